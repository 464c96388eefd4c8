// The faults of one place over HTTP: `GET` lists them, `POST ?fault=TEXT` adds one, `DELETE ?id=f1` or `?all=true` removes.
// The answer is JSON: `{ faults: […] }`, or `{ error: … }` for what was refused.

import type { ServerResponse } from 'node:http';
import type { ActiveFaults, ShownFault } from './active-faults.ts';
import { FaultError } from './parse-fault.ts';

export const FAULTS_PATH = '/berth/faults';

/** What `berth fault` reads. */
export type FaultsAnswer = { readonly faults: readonly ShownFault[] } | { readonly error: string };

export function answerFaults(
  faults: ActiveFaults,
  asked: { method: string; query: URLSearchParams; response: ServerResponse },
): void {
  const { method, query, response } = asked;
  const say = (status: number, answer: FaultsAnswer): void => {
    response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' });
    response.end(`${JSON.stringify(answer)}\n`);
  };
  try {
    say(200, { faults: perform(faults, method, query) });
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    say(400, { error: error.message });
  }
}

function perform(faults: ActiveFaults, method: string, query: URLSearchParams): ShownFault[] {
  switch (method) {
    case 'GET':
      return faults.list();
    case 'POST':
      return [faults.add(query.get('fault') ?? '')];
    case 'DELETE':
      return query.get('all') === 'true' ? faults.removeAll() : [faults.remove(query.get('id') ?? '')];
    default:
      throw new FaultError(`${method} is not GET, POST or DELETE`);
  }
}
