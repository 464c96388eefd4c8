// Requests to an embedded API server over HTTPS and what it answers, for tests that are tables.

import assert from 'node:assert/strict';
import { before } from 'node:test';
import { type ApiServer, createApiServer } from '../../src/apiserver/api-server.ts';
import { quietLog } from '../../src/apiserver/testing/test-server.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { type Answer, type Json, type JsonObject, Side, type Step, serverAt } from '../differ/exchange.ts';

let server: ApiServer;
let access: ReturnType<typeof serverAt>;

/** One server for the tests of a file. */
before(async (t) => {
  server = await createApiServer({
    clock: realClock,
    random: seededRandom('answers'),
    log: quietLog,
    staticTokens: new Map([['t', { name: 'admin', groups: ['system:masters'] }]]),
  });
  access = serverAt(String(server.url), 't');
  (t as unknown as { after(done: () => Promise<void>): void }).after(async () => {
    access.agent.destroy();
    await server.stop();
  });
});

export const post = (path: string, json: Json): Step => ({ method: 'POST', path, body: { json } });
export const put = (path: string, json: Json): Step => ({ method: 'PUT', path, body: { json } });
export const get = (path: string, headers = {}): Step => ({ method: 'GET', path, headers });
export const remove = (path: string, json?: Json): Step => ({
  method: 'DELETE',
  path,
  ...(json === undefined ? {} : { body: { json } }),
});
export const patch = (type: 'merge' | 'json' | 'strategic', path: string, json: Json): Step => ({
  method: 'PATCH',
  path,
  headers: {
    'content-type': `application/${{ merge: 'merge-patch', json: 'json-patch', strategic: 'strategic-merge-patch' }[type]}+json`,
  },
  body: { json },
});
export const apply = (path: string, json: Json, query = 'fieldManager=a'): Step => ({
  method: 'PATCH',
  path: `${path}?${query}`,
  headers: { 'content-type': 'application/apply-patch+yaml' },
  body: { json },
});
export const map = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...more,
});
export const volume = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    csi: { driver: 'd.example.com', volumeHandle: 'h' },
    ...spec,
  },
});
export const driver = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIDriver',
  metadata: { name },
  spec: { attachRequired: true, ...spec },
});

/** Sends the steps; the last answer is returned. */
export async function answer(...steps: Step[]): Promise<Answer & { body: JsonObject }> {
  const side = new Side(access);
  let last: Answer | undefined;
  for (const step of steps) last = await side.take(step);
  return last as Answer & { body: JsonObject };
}

export async function expectCodes(
  rows: readonly [title: string, code: number, ...steps: Step[]][],
): Promise<void> {
  for (const [title, code, ...steps] of rows) {
    const given = await answer(...steps);
    assert.equal(given.code, code, `${title}: ${JSON.stringify(given.body).slice(0, 400)}`);
  }
}

type Owner = { manager: string; operation: string; fieldsV1: Json };

export function ownersOf(body: JsonObject): Record<string, Json> {
  const entries = ((body.metadata as JsonObject).managedFields ?? []) as unknown as Owner[];
  return Object.fromEntries(entries.map((each) => [`${each.manager}/${each.operation}`, each.fieldsV1]));
}
