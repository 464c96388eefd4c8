// Writers over HTTPS, the server killed at a random moment without warning, started again on the same directory: every
// write that was acknowledged must be there, at the version it was acknowledged with, and nothing half-written.
// BERTH_CRASH_ROUNDS sets the number of rounds.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { adminCaller, startServer } from './server-process.ts';

const ROUNDS = Number(process.env.BERTH_CRASH_ROUNDS ?? 4);
const WRITERS = 16;
const PATH = '/api/v1/namespaces/default/configmaps';

interface Stored {
  metadata: { name: string; resourceVersion: string };
  data: Record<string, string>;
}

/** What a client knows of one object. */
interface Known {
  /** Acknowledged state; undefined when it is known to be gone. */
  acknowledged: Stored | undefined;
  /** A write whose answer never came: it may have happened. */
  unanswered: { data: Record<string, string> } | 'deletion' | undefined;
}

test('every acknowledged write survives kill -9, and none is half there', {
  timeout: 30_000 * ROUNDS,
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'crash-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const known = new Map<string, Known>();
  let acknowledgedWrites = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const server = await startServer({ dir, dataDir: join(dir, 'data') });
    const caller = await adminCaller(server.kubeconfig);
    try {
      await compare(caller, known);
      const writers = Array.from({ length: WRITERS }, (_, writer) => write(`r${round}-w${writer}`));
      await sleep(100 + Math.random() * 400);
      await server.end('SIGKILL');
      await Promise.all(writers);
    } finally {
      server.child.kill('SIGKILL');
      await caller.close();
    }

    /** Creates, updates and deletes its own objects until the server is gone. */
    async function write(prefix: string): Promise<void> {
      for (let count = 0; ; count++) {
        const name = `${prefix}-${count >> 2}`;
        const state = known.get(name) ?? { acknowledged: undefined, unanswered: undefined };
        known.set(name, state);
        const { acknowledged } = state;
        const remove = acknowledged !== undefined && count % 16 === 7;
        const data = { written: `${name} ${count}`, filler: 'x'.repeat(count % 700) };
        state.unanswered = remove ? 'deletion' : { data };
        try {
          const answer = remove
            ? await caller.call('DELETE', `${PATH}/${name}`)
            : acknowledged === undefined
              ? await caller.call('POST', PATH, { metadata: { name }, data })
              : await caller.call('PUT', `${PATH}/${name}`, { metadata: acknowledged.metadata, data });
          assert.ok(answer.code === 200 || answer.code === 201, answer.body);
          state.acknowledged = remove ? undefined : (JSON.parse(answer.body) as Stored);
          state.unanswered = undefined;
          acknowledgedWrites++;
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          return;
        }
      }
    }
  }
  const server = await startServer({ dir, dataDir: join(dir, 'data') });
  const caller = await adminCaller(server.kubeconfig);
  try {
    await compare(caller, known);
  } finally {
    await caller.close();
    assert.equal(await server.end('SIGTERM'), 0);
  }
  t.diagnostic(`${acknowledgedWrites} acknowledged writes over ${ROUNDS} kills, none lost`);
  assert.ok(acknowledgedWrites > ROUNDS * WRITERS, `only ${acknowledgedWrites} writes were acknowledged`);
});

async function compare(
  caller: { call(method: 'GET', path: string): Promise<{ code: number; body: string }> },
  known: Map<string, Known>,
): Promise<void> {
  const { items } = JSON.parse((await caller.call('GET', PATH)).body) as { items: Stored[] };
  const stored = new Map(items.map((item) => [item.metadata.name, item]));
  for (const [name, state] of known) {
    const { acknowledged, unanswered } = state;
    const found = stored.get(name);
    const isAcknowledged =
      found?.metadata.resourceVersion === acknowledged?.metadata.resourceVersion &&
      JSON.stringify(found?.data) === JSON.stringify(acknowledged?.data);
    const isUnanswered =
      unanswered !== undefined &&
      (unanswered === 'deletion'
        ? found === undefined
        : JSON.stringify(found?.data) === JSON.stringify(unanswered.data));
    assert.ok(
      isAcknowledged || isUnanswered,
      `${name}: acknowledged ${acknowledged?.metadata.resourceVersion}, found ${found?.metadata.resourceVersion}`,
    );
    state.acknowledged = found;
    state.unanswered = undefined;
    stored.delete(name);
  }
  stored.delete('kube-root-ca.crt');
  assert.deepEqual([...stored.keys()], [], 'objects that nobody wrote');
}
