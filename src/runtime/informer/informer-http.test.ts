// The informer over the real HTTP client against a real server that misbehaves: whatever happens, the cache and what
// handlers were told end up as the server's state.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nodes } from '../../api/kinds.ts';
import { type KubeObject, keyOf } from '../../api/object.ts';
import { createHttpKubeClient } from '../kube/http-kube-client.ts';
import { memoryLog } from '../log/log.ts';
import { seededRandom } from '../random.ts';
import { createInformers } from './create-informers.ts';
import type { Informer } from './informer.ts';
import { fastClock } from './testing/fast-clock.ts';
import {
  type Fault,
  LIST_FAULTS,
  type ScriptedServer,
  startScriptedServer,
  WATCH_FAULTS,
} from './testing/scripted-server.ts';
import { summary } from './testing/world.ts';

interface Followed extends AsyncDisposable {
  informer: Informer<KubeObject>;
  /** What somebody who only listens to handlers believes. */
  told: Map<string, KubeObject>;
  surprises: string[];
}

function follow(server: ScriptedServer): Followed {
  const log = memoryLog();
  const kube = createHttpKubeClient({
    config: { server: server.url, source: 'the test', tls: {}, auth: {} },
    clock: fastClock,
    random: seededRandom('informer'),
    log,
    timeouts: { headersTimeoutMs: 300 },
  });
  const stop = new AbortController();
  const informers = createInformers({
    kube,
    clock: fastClock,
    random: seededRandom('informer'),
    log,
    freeze: true,
  });
  const informer = informers.of<KubeObject>(nodes);
  const told = new Map<string, KubeObject>();
  const surprises: string[] = [];
  informer.subscribe({
    added(object) {
      if (told.has(keyOf(object))) surprises.push(`added twice: ${keyOf(object)}`);
      told.set(keyOf(object), object);
      throw new Error('handlers may throw');
    },
    updated(before, after) {
      if (told.get(keyOf(after)) !== before) surprises.push(`updated from something else: ${keyOf(after)}`);
      if (before.metadata.uid !== after.metadata.uid) surprises.push(`uid changed: ${keyOf(after)}`);
      told.set(keyOf(after), after);
    },
    deleted(last) {
      if (told.get(keyOf(last))?.metadata.uid !== last.metadata.uid)
        surprises.push(`deleted: ${keyOf(last)}`);
      told.delete(keyOf(last));
    },
  });
  informers.start(stop.signal);
  return {
    informer,
    told,
    surprises,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await kube.close();
    },
  };
}

/** Writes a marker twice, each time until it is seen: what came before must then be in the cache, in any order. */
async function settled(server: ScriptedServer, { informer }: Followed): Promise<void> {
  for (let round = 0; ; round++) {
    const value = `round-${round}`;
    server.world.create('marker');
    server.world.modify('marker', value);
    const patience = AbortSignal.timeout(3_000);
    const seen = await informer
      .waitFor('marker', (object) => object?.metadata.annotations?.value === value, patience)
      .then(
        () => true,
        () => false,
      );
    assert.ok(seen || round < 5, 'the informer does not catch up');
    if (seen && round > 0) return;
  }
}

function assertSame(server: ScriptedServer, { informer, told, surprises }: Followed): void {
  assert.deepEqual(summary(informer.list()), summary(server.world.list()));
  assert.deepEqual(summary(told.values()), summary(server.world.list()));
  assert.deepEqual(surprises, []);
}

for (const streams of [false, true]) {
  const lists = streams ? 'streaming lists' : 'paged lists';
  // A server with streaming lists is never asked for a page, unless it fails at streaming.
  const faults: Fault[] = streams ? [...WATCH_FAULTS] : [...LIST_FAULTS, ...WATCH_FAULTS];
  for (const fault of faults) {
    test(`with ${lists}, after ${fault} the cache equals the server's state`, async () => {
      await using server = await startScriptedServer({ streams });
      for (let i = 0; i < 8; i++) server.world.create(`node-${i}`, 'ä€😀');
      server.faults.push(fault);
      await using followed = follow(server);
      await followed.informer.synced(AbortSignal.timeout(10_000));
      server.world.modify('node-1', 'changed');
      server.world.delete('node-2');
      server.world.delete('node-3');
      server.world.create('node-3', 'again');
      server.world.create('node-9', '€');
      if (fault === 'watch-410') server.world.compact();
      await settled(server, followed);
      assertSame(server, followed);
      assert.deepEqual(server.faults, [], 'the fault was never met');
    });
  }
}

test('delete and re-create during an outage is seen as delete, then add', async () => {
  await using server = await startScriptedServer({ streams: false });
  server.world.create('node-1', 'first');
  await using followed = follow(server);
  await followed.informer.synced();
  const calls: string[] = [];
  followed.informer.subscribe({
    added: (object) => calls.push(`added ${object.metadata.uid}`),
    updated: (_, after) => calls.push(`updated ${after.metadata.uid}`),
    deleted: (last) => calls.push(`deleted ${last.metadata.uid}`),
  });
  server.faults.push('watch-410-event', 'watch-410-event');
  server.world.delete('node-1');
  server.world.create('node-1', 'second');
  server.world.compact();
  await followed.informer.waitFor(
    'node-1',
    (object) => object?.metadata.uid === 'uid-2',
    AbortSignal.timeout(10_000),
  );
  assert.deepEqual(calls, ['added uid-1', 'deleted uid-1', 'added uid-2']);
});

type Step =
  | { do: 'create' | 'modify' | 'delete'; name: string }
  | { do: 'compact' }
  | { do: 'fault'; fault: Fault };

// Those that wait for a real time-out are left to the table above.
const quickFaults = [...LIST_FAULTS, ...WATCH_FAULTS].filter((fault) => !/mute|stall/.test(fault));
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('create' as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('modify' as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
  { weight: 1, arbitrary: fc.constant({ do: 'compact' } as const) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('fault' as const), fault: fc.constantFrom(...quickFaults) }),
  },
);

test('any sequence of changes and faults over HTTP ends with the cache equal to the server', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.boolean(), async (steps, streams) => {
      await using server = await startScriptedServer({ streams });
      await using followed = follow(server);
      for (const [index, each] of steps.entries()) {
        if (each.do === 'compact') server.world.compact();
        else if (each.do === 'fault') server.faults.push(each.fault);
        else if (each.do === 'modify') server.world.modify(each.name, `v${index}`);
        else server.world[each.do](each.name);
        if (index % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await settled(server, followed);
      assertSame(server, followed);
    }),
    { numRuns: 40, endOnFailure: true },
  );
});
