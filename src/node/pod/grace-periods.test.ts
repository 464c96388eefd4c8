import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { GracePeriods } from './grace-periods.ts';

describe('what is left of a grace period of 30 s', () => {
  const SECONDS = 30;
  const cases: {
    name: string;
    /** The deletion as this node first sees it: so long before the end of the period. */
    seenMs: number;
    /** What happens before it is asked again. */
    after?: (clock: VirtualClock) => unknown;
    then: number;
  }[] = [
    { name: 'seen at once', seenMs: 30_000, then: 30_000 },
    { name: 'seen late, after a restart', seenMs: 12_000, then: 12_000 },
    { name: 'seen after its end', seenMs: -5_000, then: 0 },
    { name: 'the wall clock is behind', seenMs: 600_000, then: 30_000 },
    { name: 'a while later', seenMs: 30_000, after: (clock) => clock.advance(10_000), then: 20_000 },
    { name: 'long after its end', seenMs: 30_000, after: (clock) => clock.advance(90_000), then: 0 },
    {
      name: 'the wall clock is set back',
      seenMs: 30_000,
      after: (clock) => clock.wallJump(-400_000),
      then: 30_000,
    },
    {
      name: 'the wall clock is set forward',
      seenMs: 30_000,
      after: (clock) => clock.wallJump(400_000),
      then: 30_000,
    },
  ];
  for (const { name, seenMs, after, then } of cases) {
    test(name, async () => {
      const clock = new VirtualClock();
      const periods = new GracePeriods(clock);
      const pod = deleted(clock.now() + seenMs, SECONDS);
      periods.leftMs(pod);
      await after?.(clock);
      assert.equal(periods.leftMs(pod), then);
    });
  }

  test('a second deletion shortens it', () => {
    const clock = new VirtualClock();
    const periods = new GracePeriods(clock);
    periods.leftMs(deleted(clock.now() + 30_000, SECONDS));
    assert.equal(periods.leftMs(deleted(clock.now() + 1_000, 1)), 1_000);
  });

  test('a pod that is not being deleted has none', () => {
    const pod = { metadata: { name: 'p', uid: 'u' } } as Pod;
    assert.equal(new GracePeriods(new VirtualClock()).leftMs(pod), undefined);
  });
});

function deleted(untilMs: number, deletionGracePeriodSeconds: number): Pod {
  const deletionTimestamp = new Date(untilMs).toISOString();
  return { metadata: { name: 'p', uid: 'u', deletionTimestamp, deletionGracePeriodSeconds } } as Pod;
}
