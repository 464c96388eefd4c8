import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../random.ts';
import {
  VirtualClock,
  VirtualDeadlockError,
  VirtualLivelockError,
  VirtualTimeLimitError,
} from './virtual-clock.ts';

async function deep(levels: number): Promise<void> {
  for (let i = 0; i < levels; i++) await Promise.resolve();
}

describe('VirtualClock', () => {
  for (const way of ['setImmediate', 'setTimeout'] as const) {
    it(`detects an endless loop without time passing, by ${way}`, async () => {
      const clock = new VirtualClock();
      const again = (): void => void clock[way](again, 0);
      again();
      await assert.rejects(clock.advance(1000), VirtualLivelockError);
    });
  }

  it('fires timers by time, then by insertion, and settles promises and immediates between them', async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    clock.setTimeout(() => seen.push('20'), 20);
    clock.setTimeout(() => {
      seen.push('10a');
      clock.setImmediate(() => {
        seen.push('immediate of 10a');
        void deep(1000).then(() => seen.push('promises of immediate'));
      });
      void deep(1000).then(() => seen.push('promises of 10a'));
    }, 10);
    clock.setTimeout(() => seen.push('10b'), 10);
    await clock.advance(15);
    assert.deepEqual(seen, ['10a', 'promises of 10a', 'immediate of 10a', 'promises of immediate', '10b']);
    assert.equal(clock.monotonicMs(), 15);
    await clock.advance(5);
    assert.equal(seen.at(-1), '20');
  });

  it('fires timers that are set meanwhile, and none that was cancelled', async () => {
    const clock = new VirtualClock();
    let ticks = 0;
    const tick = () => {
      ticks++;
      clock.setTimeout(tick, 10);
    };
    tick();
    clock.setTimeout(() => assert.fail('was cancelled'), 30).cancel();
    clock.setImmediate(() => assert.fail('was cancelled')).cancel();
    await clock.advance(1000);
    assert.equal(ticks, 101);
    assert.equal(clock.pendingTimers, 1);
  });

  it('runs until a promise settles, with its value or its error', async () => {
    const clock = new VirtualClock();
    const answer = clock.sleep(60_000).then(() => 'yes');
    assert.equal(await clock.runUntil(answer, 120_000), 'yes');
    assert.equal(clock.monotonicMs(), 60_000);
    const failing = clock.sleep(5).then(() => Promise.reject(new Error('no')));
    await assert.rejects(clock.runUntil(failing, 10), /no/);
  });

  it('runs until a predicate holds', async () => {
    const clock = new VirtualClock();
    let count = 0;
    const tick = () => {
      count++;
      clock.setTimeout(tick, 7);
    };
    tick();
    await clock.runUntil(() => count === 4, 1000);
    assert.equal(clock.monotonicMs(), 21);
  });

  it('advances until a condition holds, and stops there', async () => {
    const clock = new VirtualClock();
    let count = 0;
    const tick = () => {
      count++;
      clock.setTimeout(tick, 7);
    };
    tick();
    await clock.advanceUnless(() => count === 4, 1000);
    assert.equal(clock.monotonicMs(), 21);
    await clock.advanceUnless(() => count === 1000, 100);
    assert.equal(clock.monotonicMs(), 121);
  });

  it('tells a deadlock from a limit', async () => {
    const clock = new VirtualClock();
    const never = new Promise(() => {});
    await assert.rejects(clock.runUntil(never, 1000), VirtualDeadlockError);
    clock.setTimeout(() => {}, 5000);
    await assert.rejects(clock.runUntil(never, 1000), VirtualTimeLimitError);
    assert.equal(clock.monotonicMs(), 1000);
  });

  it('runs until idle, within a limit', async () => {
    const clock = new VirtualClock();
    let fired = 0;
    clock.setTimeout(() => clock.setTimeout(() => fired++, 50), 50);
    assert.deepEqual(await clock.runUntilIdle(1000), { idle: true });
    assert.equal(fired, 1);
    assert.equal(clock.monotonicMs(), 100);
    clock.setTimeout(() => {}, 5000);
    assert.deepEqual(await clock.runUntilIdle(1000), { idle: false });
  });

  it('jumps the wall clock alone', async () => {
    const clock = new VirtualClock({ startMs: 1000 });
    let fired = false;
    clock.setTimeout(() => {
      fired = true;
    }, 10);
    clock.wallJump(3_600_000);
    await clock.settle();
    assert.equal(clock.now(), 3_601_000);
    assert.equal(clock.monotonicMs(), 0);
    assert.equal(fired, false);
  });

  it('aborts a sleep at once and leaves no timer behind', async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const sleeping = clock.sleep(1000, abort.signal);
    abort.abort(new Error('enough'));
    await assert.rejects(sleeping, /enough/);
    await assert.rejects(clock.sleep(1, abort.signal), /enough/);
    assert.equal(clock.pendingTimers, 0);
  });

  it('throws a timer’s exception to the caller that moves time, and can continue', async () => {
    const clock = new VirtualClock();
    clock.setTimeout(() => {
      throw new Error('a bug');
    }, 5);
    await assert.rejects(clock.advance(10), /a bug/);
    await clock.advance(10);
  });

  it('refuses to be moved twice at once', async () => {
    const clock = new VirtualClock();
    const first = clock.advance(10);
    await assert.rejects(clock.advance(10), /already being moved/);
    await first;
  });

  it('repeats the same run from the same seed', async () => {
    const trace = async (seed: number) => {
      const clock = new VirtualClock();
      const random = seededRandom(seed);
      const seen: string[] = [];
      const worker = async (id: number) => {
        for (let i = 0; i < 50; i++) {
          await clock.sleep(random.int(20));
          await deep(random.int(30));
          if (random.int(3) === 0) await new Promise<void>((resolve) => clock.setImmediate(resolve));
          seen.push(`${clock.monotonicMs()} ${id}`);
        }
      };
      await clock.runUntil(Promise.all(Array.from({ length: 20 }, (_, id) => worker(id))), 60_000);
      return seen.join('\n');
    };
    assert.equal(await trace(1), await trace(1));
    assert.notEqual(await trace(1), await trace(2));
  });
});
