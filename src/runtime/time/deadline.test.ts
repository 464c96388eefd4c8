import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TokenBucket } from '../../wire/token-bucket.ts';
import { Bell } from './bell.ts';
import { startDeadline, withDeadline } from './deadline.ts';
import { VirtualClock } from './virtual-clock.ts';

const reason = () => new Error('time is up');

describe('startDeadline', () => {
  it('aborts at the deadline or with its parent, and never once cancelled', async () => {
    const clock = new VirtualClock();
    const parent = new AbortController();
    const byTime = startDeadline({ clock, delayMs: 10, reason });
    const byParent = startDeadline({ clock, delayMs: 1000, reason, parent: parent.signal });
    const cancelled = startDeadline({ clock, delayMs: 10, reason, parent: parent.signal });
    cancelled.cancel();
    await clock.advance(20);
    parent.abort('parent');
    assert.match(String(byTime.signal.reason), /time is up/);
    assert.equal(byParent.signal.reason, 'parent');
    assert.equal(cancelled.signal.aborted, false);
    assert.equal(clock.pendingTimers, 0);
    assert.equal(startDeadline({ clock, delayMs: 1, reason, parent: parent.signal }).signal.reason, 'parent');
    assert.equal(clock.pendingTimers, 0);
  });

  it('bounds work and leaves no timer behind', async () => {
    const clock = new VirtualClock();
    const slow = withDeadline({ clock, delayMs: 10, reason }, (signal) => clock.sleep(1000, signal));
    await assert.rejects(clock.runUntil(slow, 100), /time is up/);
    const fast = withDeadline({ clock, delayMs: 10, reason }, async () => 'answer');
    assert.equal(await clock.runUntil(fast, 100), 'answer');
    assert.equal(clock.pendingTimers, 0);
  });
});

describe('Bell', () => {
  it('wakes by ring, by time and by abort, and keeps one ring', async () => {
    const clock = new VirtualClock();
    const bell = new Bell();
    const abort = new AbortController();
    const wakings: [string, () => void, number][] = [
      ['ring', () => clock.setTimeout(() => bell.ring(), 5), 5],
      ['time', () => {}, 100],
      ['kept ring', () => bell.ring(), 0],
      ['time again', () => {}, 100],
      ['abort', () => clock.setTimeout(() => abort.abort(), 7), 7],
      ['already aborted', () => {}, 0],
    ];
    for (const [name, prepare, expectedMs] of wakings) {
      const startedAtMs = clock.monotonicMs();
      prepare();
      await clock.runUntil(bell.wait(clock, 100, abort.signal), 1000);
      assert.equal(clock.monotonicMs() - startedAtMs, expectedMs, name);
      assert.equal(clock.pendingTimers, 0, name);
    }
  });
});

describe('TokenBucket', () => {
  it('gives a burst, then a rate per second, and returns the wait', async () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket({ clock, burst: 3, perSecond: 2 });
    const takeAll = () => {
      let taken = 0;
      while (bucket.take()) taken++;
      return taken;
    };
    assert.equal(takeAll(), 3);
    assert.equal(bucket.waitMs(), 500);
    await clock.advance(bucket.waitMs());
    assert.equal(takeAll(), 1);
    await clock.advance(3_600_000);
    assert.equal(bucket.waitMs(), 0);
    assert.equal(takeAll(), 3);
  });
});
