import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../kube/kube-error.ts';
import { memoryLog } from '../log/log.ts';
import { secretValue } from '../log/secret-value.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { seededRandom } from '../random.ts';
import { realClock } from '../time/clock.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { createLoop, type LoopOptions } from './create-loop.ts';
import { done, failed, type Loop, type Reconcile, requeueAfter } from './loop.ts';

function setUp(reconcile: Reconcile, options: Partial<LoopOptions> = {}) {
  const clock = new VirtualClock();
  const log = memoryLog();
  const abort = new AbortController();
  const loop: Loop = createLoop({
    name: 'test',
    reconcile,
    clock,
    random: seededRandom(1),
    log,
    ...options,
  });
  return { clock, log, abort, loop, running: loop.run(abort.signal) };
}

describe('createLoop', () => {
  it('runs each key once for many adds, in the order of their first', async () => {
    const seen: string[] = [];
    const { clock, loop } = setUp(async (key) => {
      seen.push(key);
      return done;
    });
    for (const key of ['a', 'b', 'a', 'c', 'b']) loop.add(key);
    assert.equal(loop.depth(), 3);
    await clock.settle();
    assert.deepEqual(seen, ['a', 'b', 'c']);
    assert.equal(loop.depth(), 0);
  });

  it('runs a key once more when it is added during its run, after that run', async () => {
    const spans: string[] = [];
    const { clock, loop } = setUp(
      async (key) => {
        spans.push(`${key} starts`);
        await clock.sleep(10);
        spans.push(`${key} ends`);
        return done;
      },
      { workers: 4 },
    );
    loop.add('a');
    await clock.advance(5);
    loop.add('a');
    loop.add('a');
    await clock.advance(100);
    assert.deepEqual(spans, ['a starts', 'a ends', 'a starts', 'a ends']);
  });

  it('works on as many keys at once as it has workers', async () => {
    let running = 0;
    let most = 0;
    const { clock, loop } = setUp(
      async () => {
        most = Math.max(most, ++running);
        await clock.sleep(10);
        running--;
        return done;
      },
      { workers: 3 },
    );
    for (let i = 0; i < 100; i++) loop.add(`k${i}`);
    await clock.runUntilIdle(10_000);
    assert.equal(most, 3);
    assert.equal(running, 0);
    assert.equal(clock.monotonicMs(), 340);
  });

  it('doubles the wait after each failure up to the maximum, and starts over after a success', async () => {
    const at: number[] = [];
    const attempts: number[] = [];
    let failures = 5;
    const { clock, loop } = setUp(
      async (_key, { attempt }) => {
        at.push(clock.monotonicMs());
        attempts.push(attempt);
        if (failures-- > 0) throw new Error('not yet');
        return done;
      },
      { backoff: { startMs: 100, maxMs: 500 } },
    );
    loop.add('a');
    await clock.runUntilIdle(60_000);
    assert.deepEqual(at, [0, 100, 300, 700, 1200, 1700]);
    assert.deepEqual(attempts, [0, 1, 2, 3, 4, 5]);
    failures = 1;
    loop.add('a');
    await clock.runUntilIdle(60_000);
    assert.deepEqual(attempts.slice(6), [0, 1]);
  });

  it('adds jitter up to the configured share, differently for each key', async () => {
    const at = new Map<string, number>();
    const { clock, loop } = setUp(
      async (key, { attempt }) => {
        if (attempt === 0) throw new Error('first');
        at.set(key, clock.monotonicMs());
        return done;
      },
      { backoff: { startMs: 1000, maxMs: 1000, jitter: 0.5 } },
    );
    for (let i = 0; i < 50; i++) loop.add(`k${i}`);
    await clock.runUntilIdle(60_000);
    const times = [...at.values()];
    assert.ok(times.every((time) => time >= 1000 && time < 1500));
    assert.ok(new Set(times).size > 40);
  });

  it('backs off after a failed outcome as after an exception', async () => {
    const at: number[] = [];
    const attempts: number[] = [];
    const { clock, loop } = setUp(
      async (_key, { attempt }) => {
        at.push(clock.monotonicMs());
        attempts.push(attempt);
        return attempts.length < 4 ? failed({ why: 'not yet', slow: attempts.length === 3 }) : done;
      },
      { backoff: { startMs: 100, maxMs: 5000 } },
    );
    loop.add('a');
    await clock.runUntilIdle(60_000);
    assert.deepEqual(at, [0, 100, 300, 5300]);
    assert.deepEqual(attempts, [0, 1, 2, 3]);
  });

  it('lets a reconciler wait for the backoff until the inputs of the failure change', async () => {
    const tried: [number, string, number][] = [];
    let inputs = 'small';
    const { clock, loop } = setUp(
      async (_key, { attempt, retries }) => {
        const held = retries.held(inputs);
        if (held) return held;
        tried.push([clock.monotonicMs(), inputs, attempt]);
        return failed({ why: 'no room', inputs });
      },
      { backoff: { startMs: 1000, maxMs: 300_000 } },
    );
    loop.add('a');
    await clock.advance(1500);
    // A write of the reconciler's own.
    loop.add('a');
    await clock.advance(500);
    inputs = 'large';
    loop.add('a');
    await clock.advance(1500);
    assert.deepEqual(tried, [
      [0, 'small', 0],
      [1000, 'small', 1],
      [2000, 'large', 2],
      [3000, 'large', 1],
    ]);
  });

  it('resets the backoff of a key', async () => {
    const attempts: number[] = [];
    const { clock, loop } = setUp(async (_key, { attempt }) => {
      attempts.push(attempt);
      throw new Error('always');
    });
    loop.add('a');
    await clock.advance(3500);
    loop.forget('a');
    loop.add('a');
    await clock.settle();
    assert.deepEqual(attempts, [0, 1, 2, 0]);
  });

  const delayed: { name: string; act: (loop: Loop) => void; at: number[] }[] = [
    { name: 'a delayed key runs when due', act: (l) => l.addAfter('a', 50), at: [50] },
    {
      name: 'the earlier of two due times wins',
      act: (l) => {
        l.addAfter('a', 50);
        l.addAfter('a', 20);
        l.addAfter('a', 80);
      },
      at: [20],
    },
    {
      name: 'now supersedes a delay',
      act: (l) => {
        l.addAfter('a', 50);
        l.add('a');
      },
      at: [0],
    },
    {
      name: 'a delay does not hold up what is due now',
      act: (l) => {
        l.add('a');
        l.addAfter('a', 50);
      },
      at: [0],
    },
    { name: 'a negative or absurd delay is none', act: (l) => l.addAfter('a', Number.NaN), at: [0] },
  ];
  for (const { name, act, at } of delayed) {
    it(name, async () => {
      const seen: number[] = [];
      const { clock, loop } = setUp(async () => {
        seen.push(clock.monotonicMs());
        return done;
      });
      act(loop);
      await clock.runUntilIdle(1000);
      assert.deepEqual(seen, at);
    });
  }

  it('a key that is always requeued does not starve the others', async () => {
    const seen: string[] = [];
    const { clock, loop } = setUp(async (key) => {
      seen.push(key);
      return key === 'hot' ? requeueAfter(seen.length < 500 ? 0 : 1000, 'hot') : done;
    });
    loop.add('hot');
    for (let i = 0; i < 10; i++) loop.add(`k${i}`);
    await clock.settle();
    assert.equal(seen.indexOf('k9'), 10);
  });

  it('timers and sockets are not starved by a key that is requeued at once', async () => {
    let runs = 0;
    const { loop, abort, running } = setUp(
      async () => {
        runs++;
        return requeueAfter(0, 'always');
      },
      { clock: realClock },
    );
    loop.add('hot');
    // Each sleep is a timer's turn, given although the loop always has something to do.
    while (runs <= 100) await realClock.sleep(1);
    abort.abort();
    await running;
  });

  it('after abort, running reconciles end, none starts, and a later run continues', async () => {
    const ended: string[] = [];
    const { clock, loop, abort, running } = setUp(async (key) => {
      await clock.sleep(100);
      ended.push(key);
      return done;
    });
    loop.add('a');
    loop.add('b');
    loop.addAfter('c', 10);
    await clock.advance(50);
    let stopped = false;
    void running.then(() => {
      stopped = true;
    });
    abort.abort();
    await clock.settle();
    assert.equal(stopped, false);
    await clock.runUntil(running, 1000);
    assert.deepEqual(ended, ['a']);
    assert.equal(clock.pendingTimers, 0);
    const again = new AbortController();
    const second = loop.run(again.signal);
    await clock.runUntil(() => ended.length === 3, 1000);
    again.abort();
    await clock.runUntil(second, 1000);
    assert.deepEqual(ended, ['a', 'b', 'c']);
  });

  it('logs a failure with key, attempt and next delay, and no secret; a conflict is no error', async () => {
    const secret = secretValue('s3cret');
    const { clock, loop, log, abort } = setUp(async (key) => {
      if (key === 'conflict') throw new KubeError({ reason: 'Conflict', code: 409, message: 'changed' });
      throw Object.assign(new Error(`with ${secret}`), { secret, body: 's3cret' });
    });
    loop.add('ns/a');
    loop.add('conflict');
    await clock.settle();
    abort.abort();
    const errors = log.lines.filter((line) => line.level === 'error');
    assert.equal(errors.length, 1);
    assert.deepEqual(
      { ...errors[0]?.fields, err: undefined },
      { loop: 'test', key: 'ns/a', attempt: 0, retryInMs: 1000, err: undefined },
    );
    assert.ok(!log.text().includes('s3cret'));
  });

  it('survives a reconciler that throws before its first await', async () => {
    let runs = 0;
    const { clock, loop } = setUp(() => {
      runs++;
      throw new Error('at once');
    });
    loop.add('a');
    await clock.advance(1000);
    assert.equal(runs, 2);
  });

  it('reports itself under the usual metric names', async () => {
    const metrics = createMetrics();
    let fail = true;
    const { clock, loop } = setUp(
      async (key) => {
        if (key === 'slow') await clock.sleep(60_000);
        if (fail) {
          fail = false;
          throw new Error('once');
        }
        return done;
      },
      { metrics },
    );
    loop.add('a');
    await clock.advance(1000);
    loop.add('slow');
    loop.add('waiting');
    await clock.advance(5000);
    const text = await metrics.text();
    for (const line of [
      'workqueue_adds_total{name="test"} 4',
      'workqueue_retries_total{name="test"} 1',
      'workqueue_depth{name="test"} 1',
      'workqueue_unfinished_work_seconds{name="test"} 5',
      'workqueue_longest_running_processor_seconds{name="test"} 5',
      'workqueue_work_duration_seconds_count{name="test"} 2',
      'workqueue_queue_duration_seconds_count{name="test"} 3',
    ]) {
      assert.ok(text.includes(line), `${line} in\n${text}`);
    }
  });
});
