// `berth fault`: sets, lists and lifts faults in a running `berth up`, or in a running `berth proxy`.

import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { shortSocketPath, socketPath } from '../csi/names/socket-path.ts';
import type { ShownFault } from '../faults/active-faults.ts';
import { FAULTS_PATH, type FaultsAnswer } from '../faults/faults-path.ts';
import { parseFault } from '../faults/parse-fault.ts';
import { controlSocketOf } from '../faults/serve-faults.ts';
import { FAULT_WORDS } from '../faults/vocabulary.ts';
import { boolFlag, choiceFlag, stringFlag } from '../runtime/flags/flag.ts';
import { defineCommand, ExitCode, UsageError } from './command.ts';
import { aligned } from './objects/print-table.ts';
import { findKubeConfig, requestPath } from './objects/read-lines.ts';

const ACTIONS = ['add', 'list', 'remove'] as const;

export const command = defineCommand({
  summary: "Breaks calls to drivers on purpose: berth fault add 'CreateVolume fail UNAVAILABLE 30%'",
  description:
    'Faults are set in `berth up`, with the rights of your kubeconfig, or with --proxy in a `berth proxy`. They last until they ' +
    `are removed or the process ends. A fault is one of: ${Object.values(FAULT_WORDS)
      .map(({ usage }) => `\`${usage}\``)
      .join(
        ', ',
      )}; then, as far as wanted, driver=NAME, volume=ID, node=NAME, a rate as 30%, and a count as once or 3x. ` +
    "CALL may end with *, as in 'Node* delay 1s'. `berth fault list` shows how often each has struck.",
  arguments: { usage: 'add FAULT… | list | remove ID…', min: 1, max: 100 },
  completes: ACTIONS,
  flags: {
    proxy: stringFlag({ help: 'Socket that a `berth proxy` listens on, instead of a cluster' }),
    kubeconfig: stringFlag({ help: 'Kubeconfig file; without it KUBECONFIG, then that of `berth up`' }),
    all: boolFlag({ help: 'Remove all faults' }),
    output: choiceFlag({ help: 'Output format (also -o)', choices: ['text', 'json'], default: 'text' }),
    o: choiceFlag({ help: 'Same as --output', choices: ['text', 'json'], default: 'text', hidden: true }),
  },
  async run({ flags, args, env, signal, stdout, stderr }) {
    const [action = '', ...rest] = args;
    const asked = requestsOf(action, rest, flags.all);
    const config = flags.proxy === undefined ? await findKubeConfig(flags, env) : undefined;
    const isJson = flags.output === 'json' || flags.o === 'json';
    const done: ShownFault[] = [];
    let failed = false;
    for (const { method, query } of asked) {
      const path = `${FAULTS_PATH}?${new URLSearchParams(query)}`;
      const message = config
        ? await requestPath(config, { path, method, signal })
        : await askProxy(flags.proxy ?? '', { path, method, signal });
      const answer = await readAnswer(message);
      if ('error' in answer) {
        failed = true;
        stderr.write(`berth fault: ${answer.error}\n`);
      } else done.push(...answer.faults);
    }
    if (isJson) stdout.write(`${JSON.stringify({ faults: done }, undefined, 2)}\n`);
    else if (action === 'list') for (const line of tableOf(done)) stdout.write(`${line}\n`);
    else {
      const verb = action === 'add' ? 'set' : 'removed';
      for (const { id, fault } of done) stdout.write(`${id} ${verb}: ${fault}\n`);
      if (done.length === 0 && !failed) stdout.write('there are no faults\n');
    }
    return failed ? ExitCode.failed : ExitCode.ok;
  },
});

interface Asked {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly query: Record<string, string>;
}

function requestsOf(action: string, rest: readonly string[], all: boolean): Asked[] {
  switch (action) {
    case 'list':
      if (rest.length > 0) throw new UsageError('berth fault list takes no arguments');
      return [{ method: 'GET', query: {} }];
    case 'add':
      if (rest.length === 0) {
        throw new UsageError("which fault? Write it in quotes, as 'CreateVolume lose-answer once'");
      }
      return rest.map((fault) => ({ method: 'POST', query: { fault: checked(fault) } }));
    case 'remove':
      if (all === rest.length > 0) throw new UsageError('give the IDs of the faults to remove, or --all');
      return all
        ? [{ method: 'DELETE', query: { all: 'true' } }]
        : rest.map((id) => ({ method: 'DELETE', query: { id } }));
    default:
      throw new UsageError(`berth fault ${action}: there is only ${ACTIONS.join(', ')}`);
  }
}

/** All of them are read before the first is set. */
function checked(fault: string): string {
  try {
    parseFault(fault);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  return fault;
}

function askProxy(
  listen: string,
  asked: { path: string; method: string; signal: AbortSignal },
): Promise<IncomingMessage> {
  const control = controlSocketOf(socketPath(listen));
  const reach = shortSocketPath(control);
  return new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest({ socketPath: reach.path, ...asked }, resolve);
    request.on('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EACCES' ? 'it belongs to another user' : `no proxy answers there (${error.code})`;
      reject(new Error(`cannot reach the proxy's control socket ${control}: ${why}`));
    });
    request.end();
  }).finally(() => reach.release());
}

async function readAnswer(message: IncomingMessage): Promise<FaultsAnswer> {
  const body = await text(message);
  const { statusCode = 0 } = message;
  if (statusCode === 200 || statusCode === 400) return JSON.parse(body) as FaultsAnswer;
  if (statusCode === 403) return { error: 'only an administrator of the cluster may do that' };
  if (statusCode === 404 || statusCode === 405) {
    return {
      error: 'this API server has no faults; `berth up` has, and `berth proxy` for any other cluster',
    };
  }
  return { error: `the answer was ${statusCode}` };
}

function tableOf(faults: readonly ShownFault[]): string[] {
  if (faults.length === 0) return ['there are no faults'];
  const rows = faults.map(({ id, fault, kind, struck, isSpent }) => [
    id,
    fault,
    isSpent ? `${struck}, spent` : String(struck),
    kind,
  ]);
  return aligned([['ID', 'FAULT', 'STRUCK', 'IN THE SIMULATION'], ...rows]);
}
