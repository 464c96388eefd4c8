// What users of an informer can rely on, under virtual time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nodes, pods } from '../../api/kinds.ts';
import { type KubeObject, keyOf, type Resource } from '../../api/object.ts';
import { KubeError } from '../kube/kube-error.ts';
import { memoryLog } from '../log/log.ts';
import { seededRandom } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { createInformers } from './create-informers.ts';
import type { Informer, InformerOptions } from './informer.ts';
import { kubeError, MemoryKube } from './testing/memory-kube.ts';
import { summary, World } from './testing/world.ts';

const anyNode: Resource<KubeObject> = nodes;

function setUp(options: InformerOptions<KubeObject> = {}, seed = 'test') {
  const clock = new VirtualClock();
  const kube = new MemoryKube(new World());
  const log = memoryLog();
  const stop = new AbortController();
  const informers = createInformers({ kube, clock, random: seededRandom(seed), log, freeze: true });
  const informer = informers.of(anyNode, options);
  return { clock, kube, world: kube.world, log, stop, informers, informer };
}

function record(informer: Informer<KubeObject>): string[] {
  const calls: string[] = [];
  const value = (object: KubeObject) => `${object.metadata.name}=${object.metadata.annotations?.value}`;
  informer.subscribe({
    added: (object) => calls.push(`+${value(object)}`),
    updated: (before, after) => calls.push(before === after ? `~${value(after)}` : `*${value(after)}`),
    deleted: (last) => calls.push(`-${last.metadata.name}`),
  });
  return calls;
}

test('the first list is in the cache, and handlers have seen it, before it counts as synced', async () => {
  const { clock, world, informers, informer, stop } = setUp();
  world.create('a', '1');
  const calls = record(informer);
  assert.equal(informer.hasSynced, false);
  informers.start(stop.signal);
  let seenAtSync: string[] = [];
  await clock.runUntil(
    informers.synced().then(() => {
      seenAtSync = [...calls];
    }),
    1000,
  );
  assert.deepEqual(seenAtSync, ['+a=1']);
  assert.equal(informer.hasSynced, true);
});

test('a late subscriber gets the cached objects, then changes; an unsubscribed one gets no more', async () => {
  const { clock, world, informers, informer, stop } = setUp();
  world.create('a', '1');
  informers.start(stop.signal);
  await clock.settle();
  const calls: string[] = [];
  const unsubscribe = informer.subscribe({ added: (object) => calls.push(object.metadata.name) });
  world.create('b');
  await clock.settle();
  unsubscribe();
  world.create('c');
  await clock.settle();
  assert.deepEqual(calls, ['a', 'b']);
});

test('a handler that throws disturbs neither the informer nor the others, and is logged', async () => {
  const { clock, world, informers, informer, stop, log } = setUp();
  informer.subscribe({
    added() {
      throw new Error('boom in handler');
    },
  });
  const calls = record(informer);
  informers.start(stop.signal);
  world.create('a', '1');
  await clock.settle();
  world.modify('a', '2');
  await clock.settle();
  assert.deepEqual(calls, ['+a=1', '*a=2']);
  assert.match(log.text(), /boom in handler/);
});

test('a subscriber added from within a handler gets each object once', async () => {
  const { clock, world, informers, informer, stop } = setUp();
  world.create('a', '1');
  world.create('b', '1');
  let inner: string[] | undefined;
  informer.subscribe({
    added() {
      inner ??= record(informer);
    },
  });
  informers.start(stop.signal);
  await clock.settle();
  assert.deepEqual(inner?.sort(), ['+a=1', '+b=1']);
});

test('a list after an outage replaces the cache in one step, deletions first', async () => {
  const { clock, kube, world, informers, informer, stop } = setUp();
  world.create('a', '1');
  world.create('b', '1');
  world.create('c', '1');
  informers.start(stop.signal);
  await clock.settle();
  const calls: string[] = [];
  const sizes: number[] = [];
  informer.subscribe({
    updated: (_, after) => calls.push(`*${after.metadata.name}`),
    deleted(last) {
      calls.push(`-${last.metadata.name}`);
      sizes.push(informer.list().length);
    },
  });
  kube.breakWatches(kubeError('Unreachable', 0));
  world.delete('a');
  world.modify('b', '2');
  world.delete('c');
  world.create('c', 'again');
  world.create('d', '1');
  world.compact();
  await clock.advance(60_000);
  assert.deepEqual(calls, ['-a', '-c', '*b']);
  assert.deepEqual(sizes, [3, 3]);
  assert.deepEqual(summary(informer.list()), summary(world.list()));
});

test('a dropped watch resumes from the last version without listing again', async () => {
  const { clock, kube, world, informers, informer, stop } = setUp();
  informers.start(stop.signal);
  world.create('a', '1');
  await clock.settle();
  kube.breakWatches(kubeError('Unreachable', 0));
  world.create('b', '1');
  await clock.advance(5000);
  assert.deepEqual(kube.calls, ['stream', 'watch']);
  assert.deepEqual(summary(informer.list()), summary(world.list()));
});

test('while the server is away the time between attempts doubles up to half a minute, with jitter', async () => {
  const { clock, kube, informers, stop } = setUp();
  kube.streams = false;
  informers.start(stop.signal);
  await clock.settle();
  kube.calls.length = 0;
  kube.failures.push(...Array.from({ length: 100 }, () => kubeError('Unreachable', 0)));
  kube.breakWatches(kubeError('Unreachable', 0));
  await clock.advance(10 * 60_000);
  // Between 30 s and 60 s apart once at its longest.
  assert.ok(kube.calls.length >= 14 && kube.calls.length <= 26, `${kube.calls.length} attempts`);
  assert.ok(kube.calls.every((call) => call === 'watch'));
});

test('an optional kind that is not installed is synced and empty, and fills when it appears', async () => {
  const { clock, kube, world, informers, informer, stop, log } = setUp({ optional: true });
  kube.installed = false;
  informers.start(stop.signal);
  await clock.runUntil(informer.synced(), 1000);
  assert.deepEqual(informer.list(), []);
  await clock.advance(10 * 60_000);
  assert.equal(log.lines.filter((line) => /not installed/.test(line.message)).length, 1);
  kube.installed = true;
  world.create('a', '1');
  await clock.advance(60_000);
  assert.deepEqual(summary(informer.list()), summary(world.list()));
  kube.installed = false;
  kube.breakWatches(kubeError('NotFound', 404));
  await clock.advance(60_000);
  assert.deepEqual(informer.list(), []);
});

test('a required kind that is not installed keeps the informer unsynced, and is logged', async () => {
  const { clock, kube, informers, informer, stop, log } = setUp();
  kube.installed = false;
  informers.start(stop.signal);
  await clock.advance(60_000);
  assert.equal(informer.hasSynced, false);
  assert.match(log.text(), /NotFound/);
});

test('a kind that the account may not read is said to be one, and is read once it may', async () => {
  const { clock, kube, world, informers, informer, stop, log } = setUp();
  kube.failures.push(...Array.from({ length: 4 }, () => kubeError('Forbidden', 403)));
  world.create('a', '1');
  informers.start(stop.signal);
  await clock.advance(1_000);
  assert.equal(informer.hasSynced, false);
  assert.match(log.text(), /the account may not read the kind, deploy\/rbac has the roles; listing again/);
  assert.doesNotMatch(log.text(), /lost track/);
  await clock.advance(60_000);
  assert.deepEqual(summary(informer.list()), summary(world.list()));
});

test('indexes follow changes, whenever they are added', async () => {
  const { clock, world, informers, informer, stop } = setUp();
  const byValue = (object: KubeObject) => [object.metadata.annotations?.value ?? ''];
  informer.addIndex('early', byValue);
  informers.start(stop.signal);
  world.create('a', 'x');
  world.create('b', 'x');
  await clock.settle();
  informer.addIndex('late', byValue);
  informer.addIndex('late', byValue);
  world.modify('b', 'y');
  world.create('c', 'y');
  world.delete('a');
  await clock.settle();
  for (const index of ['early', 'late']) {
    assert.deepEqual(informer.byIndex(index, 'x'), []);
    assert.deepEqual(
      informer.byIndex(index, 'y').map((object) => object.metadata.name),
      ['b', 'c'],
    );
    assert.deepEqual([...informer.indexValues(index)], ['y']);
  }
  assert.throws(() => informer.addIndex('late', () => []), /already exists/);
  assert.throws(() => informer.byIndex('none', 'x'), /no index none/);
});

test('trim decides what is cached', async () => {
  const trim = (object: KubeObject): KubeObject => {
    const { annotations: _, ...metadata } = object.metadata;
    return { ...object, metadata };
  };
  const { clock, world, informers, informer, stop } = setUp({ trim });
  world.create('a', 'x');
  informers.start(stop.signal);
  await clock.settle();
  world.create('b', 'x');
  await clock.settle();
  assert.deepEqual(
    informer.list().map((object) => object.metadata.annotations),
    [undefined, undefined],
  );
});

test('the same resource and options are one informer; another trim or selection is another', () => {
  const { informers } = setUp();
  const trim = (object: KubeObject) => object;
  const anyPod = pods as unknown as Resource<KubeObject>;
  assert.equal(informers.of(anyPod, { trim }), informers.of(anyPod, { trim }));
  assert.notEqual(informers.of(anyPod, { trim }), informers.of(anyPod, { trim: (object) => object }));
  assert.equal(informers.of(nodes), informers.of({ ...nodes }));
  assert.notEqual(informers.of(anyNode), informers.of(anyNode, { labelSelector: 'a=b' }));
  assert.notEqual(informers.of(pods), informers.of(pods, { namespace: 'x' }));
  assert.notEqual(informers.of(anyNode), informers.of(anyNode, { resyncMs: 1000 }));
});

test('a trimmed informer shares the cache of whole objects when there is one', () => {
  const { informers } = setUp();
  const trim = (object: KubeObject) => object;
  const whole = informers.of(anyNode);
  assert.equal(informers.of(anyNode, { trim }), whole);
  assert.equal(informers.of(anyNode, { trim, optional: true }), whole);
  assert.notEqual(informers.of(anyNode, { trim, labelSelector: 'a=b' }), whole);
});

test('an informer first asked for after the start runs too', async () => {
  const { clock, world, informers, stop } = setUp();
  world.create('a');
  informers.start(stop.signal);
  const late = informers.of(anyNode, { fieldSelector: 'metadata.name=a' });
  await clock.runUntil(late.synced(), 1000);
  assert.equal(late.list().length, 1);
});

test('resync calls the handlers with every object at its interval, until stopped', async () => {
  const { clock, world, informers, informer, stop } = setUp({ resyncMs: 1000 });
  world.create('a', '1');
  const calls = record(informer);
  informers.start(stop.signal);
  await clock.advance(2500);
  assert.deepEqual(calls, ['+a=1', '~a=1', '~a=1']);
  stop.abort();
  await clock.advance(5000);
  assert.equal(calls.length, 3);
  assert.equal(clock.pendingTimers, 0);
});

test('waitFor resolves at once, on a change, or on a deletion, and rejects on abort', async () => {
  const { clock, world, informers, informer, stop } = setUp();
  const missing = informer.waitFor('a', (object) => object === undefined);
  const appears = informer.waitFor('b', (object) => object !== undefined);
  const impatient = new AbortController();
  const never = informer.waitFor('c', (object) => object !== undefined, impatient.signal);
  const broken = informer.waitFor('b', (object) => {
    if (object !== undefined) throw new Error('predicate');
    return false;
  });
  const outcome = Promise.allSettled([never, broken]);
  informers.start(stop.signal);
  assert.equal(await clock.runUntil(missing, 1000), undefined);
  await clock.settle();
  world.create('b', '1');
  assert.equal((await clock.runUntil(appears, 1000))?.metadata.name, 'b');
  const gone = informer.waitFor('b', (object) => object === undefined);
  world.delete('b');
  assert.equal(await clock.runUntil(gone, 1000), undefined);
  impatient.abort(new Error('enough'));
  const reasons = (await outcome).map((each) => (each.status === 'rejected' ? each.reason.message : ''));
  assert.deepEqual(reasons, ['enough', 'predicate']);
});

for (const streams of [true, false]) {
  test(`a refresh shows what the server has, although the watch is silent (${streams ? 'streaming lists' : 'pages'})`, async () => {
    const { clock, kube, world, informers, informer, stop } = setUp();
    kube.streams = streams;
    world.create('a', '1');
    world.create('b', '1');
    informers.start(stop.signal);
    await clock.settle();
    kube.silenceWatches();
    world.modify('a', '2');
    world.delete('b');
    await clock.advance(10_000);
    assert.notDeepEqual(summary(informer.list()), summary(world.list()));
    await clock.runUntil(informer.refresh(), 1000);
    assert.deepEqual(summary(informer.list()), summary(world.list()));
    assert.equal(kube.openWatches, 1);
    world.create('c', '1');
    await clock.settle();
    assert.deepEqual(summary(informer.list()), summary(world.list()), 'it follows from there');
  });
}

test('refreshes share a list that has not begun, and not one that has', async () => {
  const { clock, kube, world, informers, informer, stop } = setUp();
  informers.start(stop.signal);
  await clock.settle();
  kube.calls.length = 0;
  await clock.runUntil(Promise.all([informer.refresh(), informer.refresh()]), 1000);
  assert.deepEqual(kube.calls, ['stream']);
  let second: Promise<void> | undefined;
  const calls = record(informer);
  world.create('a', '1');
  await clock.settle();
  kube.silenceWatches();
  world.create('b', '1');
  informer.subscribe({
    added: ({ metadata: { name } }) => {
      // The list that shows it is under way.
      if (name === 'b') second = informer.refresh();
    },
  });
  kube.calls.length = 0;
  await clock.runUntil(informer.refresh(), 1000);
  assert.ok(second);
  await clock.runUntil(second, 1000);
  assert.deepEqual(kube.calls, ['stream', 'stream']);
  assert.deepEqual(calls, ['+a=1', '+b=1']);
});

test('a refresh goes on through failures, and rejects when the informer stops', async () => {
  const { clock, kube, world, informers, informer, stop } = setUp();
  informers.start(stop.signal);
  await clock.settle();
  kube.silenceWatches();
  world.create('a', '1');
  kube.failures.push(kubeError('Unreachable', 0), kubeError('InternalError', 500));
  await clock.runUntil(informer.refresh(), 20_000);
  assert.deepEqual(summary(informer.list()), summary(world.list()));
  kube.failures.push(kubeError('Unreachable', 0));
  const underWay = informer.refresh();
  const rejected = assert.rejects(underWay, /enough/);
  stop.abort(new Error('enough'));
  await clock.settle();
  await rejected;
  await assert.rejects(informer.refresh(), /informer of nodes has stopped/);
});

const trouble = (code: number, retryAfterSeconds?: number): KubeError =>
  new KubeError({
    ...{ reason: 'InternalError', code, message: 'on purpose' },
    ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }),
  });

interface RefreshCase extends InformerOptions<KubeObject> {
  fail: (kube: MemoryKube) => void;
  then?: (kube: MemoryKube) => void;
  withinMs: number;
  notWithinMs?: number;
}

const always = (error: KubeError): KubeError[] => Array.from({ length: 100 }, () => error);

const refreshCases: Record<string, RefreshCase> = {
  'a kind that is not installed': {
    optional: true,
    fail: (kube) => {
      kube.installed = false;
    },
    withinMs: 10,
  },
  'a server that failed': {
    fail: (kube) => kube.failures.push(...always(trouble(503))),
    then: (kube) => kube.failures.splice(0),
    withinMs: 10,
  },
  'a server that fails a little longer': {
    fail: (kube) => kube.failures.push(...always(trouble(503))),
    then: (kube) => kube.failures.splice(2),
    withinMs: 5_000,
  },
  'a server that asked for a pause, which is kept': {
    fail: (kube) => kube.failures.push(trouble(429, 200)),
    withinMs: 122_000,
    notWithinMs: 119_000,
  },
};

for (const [what, { fail, then, withinMs, notWithinMs = 0, ...options }] of Object.entries(refreshCases)) {
  test(`a refresh does not wait for the next regular attempt: ${what}`, async () => {
    const { clock, kube, informers, informer, stop } = setUp(options);
    kube.streams = false;
    informers.start(stop.signal);
    await clock.settle();
    fail(kube);
    kube.breakWatches(kubeError('NotFound', 404));
    await clock.advance(80_000);
    then?.(kube);
    const before = kube.calls.length;
    const fromMs = clock.monotonicMs();
    await clock.runUntil(Promise.all([informer.refresh(), informer.refresh()]), 200_000);
    const tookMs = clock.monotonicMs() - fromMs;
    assert.ok(tookMs <= withinMs && tookMs >= notWithinMs, `${tookMs} ms`);
    assert.ok(kube.calls.length - before <= 4, `${kube.calls.length - before} requests`);
  });
}

test('refreshes one after another while the server fails are no reason to ask it more often', async () => {
  const { clock, kube, informers, informer, stop } = setUp();
  informers.start(stop.signal);
  await clock.settle();
  kube.failures.push(...Array.from({ length: 1_000 }, () => kubeError('Unreachable', 0)));
  kube.breakWatches(kubeError('Unreachable', 0));
  for (let passed = 0; passed < 60_000; passed += 100) {
    informer.refresh().catch(() => {});
    await clock.advance(100);
  }
  assert.ok(kube.calls.length < 15, `${kube.calls.length} requests`);
  stop.abort();
});

test('synced rejects when its signal aborts', async () => {
  const { informer } = setUp();
  const impatient = new AbortController();
  const waiting = informer.synced(impatient.signal);
  impatient.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
});

test('after abort no watch is open and no timer is set', async () => {
  const { clock, kube, informers, stop } = setUp();
  informers.start(stop.signal);
  await clock.settle();
  assert.equal(kube.openWatches, 1);
  stop.abort();
  await clock.settle();
  assert.equal(kube.openWatches, 0);
  assert.equal(clock.pendingTimers, 0);
});

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const error = fc.constantFrom(
  kubeError('Unreachable', 0),
  kubeError('Expired', 410),
  kubeError('BadAnswer', 200),
  kubeError('InternalError', 500),
  kubeError('Invalid', 422),
  kubeError('Unauthorized', 401),
);
const step = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), name }),
  fc.record({ kind: fc.constant('modify' as const), name }),
  fc.record({ kind: fc.constant('delete' as const), name }),
  fc.record({ kind: fc.constant('fail' as const), error }),
  fc.record({ kind: fc.constant('break' as const), error: fc.option(error, { nil: undefined }) }),
  fc.record({ kind: fc.constant('compact' as const) }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(40_000) }),
);

test('after any changes, faults and pauses cache, index and handlers equal the server, deterministically', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (steps, streams) => {
      const run = async (): Promise<string[]> => {
        const { clock, kube, world, informers, informer, stop, log } = setUp({}, 'property');
        kube.streams = streams;
        informer.addIndex('uid', (object) => [object.metadata.uid]);
        const calls = record(informer);
        const told = new Map<string, KubeObject>();
        informer.subscribe({
          added(object) {
            assert.ok(!told.has(keyOf(object)));
            told.set(keyOf(object), object);
          },
          updated(before, after) {
            assert.equal(told.get(keyOf(after)), before);
            told.set(keyOf(after), after);
          },
          deleted: (last) => assert.ok(told.delete(keyOf(last))),
        });
        informers.start(stop.signal);
        for (const [index, each] of steps.entries()) {
          if (each.kind === 'pass') await clock.advance(each.ms);
          else if (each.kind === 'fail') kube.failures.push(each.error);
          else if (each.kind === 'break') kube.breakWatches(each.error);
          else if (each.kind === 'compact') world.compact();
          else if (each.kind === 'modify') world.modify(each.name, `v${index}`);
          else world[each.kind](each.name, `v${index}`);
        }
        await clock.advance(60 * 60_000);
        // The assertions in the handlers above: an informer does not let them through.
        assert.doesNotMatch(log.text(), /handler threw/);
        const truth = summary(world.list());
        assert.deepEqual(summary(informer.list()), truth);
        assert.deepEqual(summary(told.values()), truth);
        const indexed = [...informer.indexValues('uid')].flatMap((uid) => informer.byIndex('uid', uid));
        assert.deepEqual(summary(indexed), truth);
        stop.abort();
        await clock.settle();
        return [...calls, ...kube.calls];
      };
      assert.deepEqual(await run(), await run());
    }),
    { numRuns: 150 },
  );
});

test('listing 100,000 objects again keeps those that did not change, changes the others and holds nothing up', async () => {
  const clock = new VirtualClock();
  const world = new World();
  const kube = new MemoryKube(world);
  const stop = new AbortController();
  const informers = createInformers({ kube, clock, random: seededRandom('test'), log: memoryLog() });
  const informer = informers.of(anyNode, { trim: (object) => ({ ...object }) });
  for (let i = 0; i < 100_000; i++) world.create(`node-${i}`);
  informer.addIndex('value', ({ metadata }) => [metadata.annotations?.value ?? '']);
  let inTurn = 0;
  let mostInTurn = 0;
  const count = (): void => {
    if (inTurn === 0) {
      clock.setImmediate(() => {
        inTurn = 0;
      });
    }
    mostInTurn = Math.max(mostInTurn, ++inTurn);
  };
  informer.subscribe({ added: count, updated: count, deleted: count });
  informers.start(stop.signal);
  await clock.runUntil(informers.synced(), 1000);
  assert.equal(informer.list().length, 100_000);

  const before = new Map(informer.list().map((object) => [keyOf(object), object]));
  const versionBefore = informer.resourceVersion;
  for (let i = 0; i < 5000; i++) world.modify(`node-${i * 7}`, 'new');
  for (let i = 0; i < 100; i++) world.delete(`node-${99_999 - i}`);
  world.create('node-of-today', 'new');
  world.compact();
  const versions = new Set<string>();
  informer.subscribe({ updated: () => versions.add(informer.resourceVersion) });
  kube.breakWatches(kubeError('Expired', 410));
  await clock.runUntil(
    informer.waitFor('node-of-today', (object) => object !== undefined),
    60_000,
  );
  await clock.settle();
  assert.equal(informer.resourceVersion, String(world.version));
  assert.deepEqual([...versions], [versionBefore], 'the new version only once all of it is in the cache');
  assert.equal(informer.list().length, 99_901);
  assert.equal(informer.byIndex('value', 'new').length, 5001);
  const kept = informer.list().filter((object) => before.get(keyOf(object)) === object);
  assert.equal(kept.length, 100_000 - 5000 - 100);
  assert.deepEqual(informer.list().map(keyOf), world.list().map(keyOf));
  assert.ok(mostInTurn <= 1000, `${mostInTurn} handlers were called before other work had its turn`);
  stop.abort();
});

test('a large cache is replayed in slices to who asks for that: as it is at that time, and no longer than wanted', async () => {
  const { clock, world, informers, informer, stop } = setUp();
  for (let i = 0; i < 3000; i++) world.create(`node-${i}`, 'old');
  informers.start(stop.signal);
  await clock.runUntil(informers.synced(), 1000);
  const [shown, shownToAnother] = [new Map<string, string | undefined>(), new Set<string>()];
  let updates = 0;
  const show = (object: KubeObject): void => {
    shown.set(keyOf(object), object.metadata.annotations?.value);
  };
  informer.subscribe(
    {
      added: show,
      updated: (_before, after) => {
        updates++;
        show(after);
      },
      deleted: (last) => shown.delete(keyOf(last)),
    },
    { inSlices: true },
  );
  assert.equal(shown.size, 1000, 'the rest comes in later turns');
  const end = informer.subscribe(
    { added: (object) => shownToAnother.add(keyOf(object)) },
    { inSlices: true },
  );
  end();
  world.modify('node-10', 'new');
  world.modify('node-2000', 'new');
  world.delete('node-2001');
  world.create('node-of-today', 'new');
  await clock.settle();
  assert.equal(updates, 2);
  assert.deepEqual(
    [...shown].sort(),
    informer
      .list()
      .map((object) => [keyOf(object), object.metadata.annotations?.value] as const)
      .sort(),
  );
  assert.equal([...shown.values()].filter((value) => value === 'new').length, 3);
  assert.equal(shownToAnother.size, 1000, 'who has unsubscribed is told no more');
  stop.abort();
});
