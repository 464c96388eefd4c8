// How the limiter learns, and how the token bucket paces, under virtual time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../time/virtual-clock.ts';
import { Limiter, type RequestEnd } from './limiter.ts';

/** Sends `count` requests at once, each taking what `latencyMs` says for the number under way. */
async function load(
  limiter: Limiter,
  clock: VirtualClock,
  options: {
    count: number;
    latencyMs: (underWay: number) => number;
    end?: (underWay: number) => RequestEnd['kind'];
  },
): Promise<{ most: number; tookMs: number }> {
  let underWay = 0;
  let most = 0;
  const startedMs = clock.monotonicMs();
  const all = Promise.all(
    Array.from({ length: options.count }, async () => {
      const leave = await limiter.enter('write');
      most = Math.max(most, ++underWay);
      const kind = options.end?.(underWay) ?? 'answered';
      await clock.sleep(options.latencyMs(underWay));
      underWay--;
      leave({ kind });
    }),
  );
  await clock.runUntil(all, 24 * 3_600_000);
  return { most, tookMs: clock.monotonicMs() - startedMs };
}

test('concurrency grows up to a limit while latency is stable', async () => {
  const clock = new VirtualClock();
  const limiter = new Limiter({ clock });
  const first = await load(limiter, clock, { count: 16, latencyMs: () => 10 });
  assert.equal(first.most, 16);
  const later = await load(limiter, clock, { count: 5_000, latencyMs: () => 10 });
  assert.equal(later.most, 256);
});

test('concurrency shrinks as latency grows, but not to zero', async () => {
  const clock = new VirtualClock();
  const limiter = new Limiter({ clock });
  await load(limiter, clock, { count: 20, latencyMs: () => 5 });
  // Twenty at a time go fast; more only wait for each other.
  const latencyMs = (underWay: number) => (underWay <= 20 ? 50 : underWay * 20);
  await load(limiter, clock, { count: 5_000, latencyMs });
  assert.ok(limiter.limit >= 4 && limiter.limit <= 30, `limit ${limiter.limit}`);
});

test('429 halves the limit once a second, down to a few, and it recovers', async () => {
  const clock = new VirtualClock();
  const limiter = new Limiter({ clock });
  await load(limiter, clock, { count: 16, latencyMs: () => 1, end: () => 'pushedBack' });
  assert.equal(limiter.limit, 8);
  await load(limiter, clock, { count: 200, latencyMs: () => 1000, end: () => 'pushedBack' });
  assert.equal(limiter.limit, 4);
  await load(limiter, clock, { count: 2_000, latencyMs: () => 10 });
  assert.ok(limiter.limit > 30);
});

test('requests without a latency sample change nothing', async () => {
  const clock = new VirtualClock();
  const limiter = new Limiter({ clock });
  await load(limiter, clock, { count: 500, latencyMs: () => 60_000, end: () => 'unknown' });
  assert.equal(limiter.limit, 16);
});

test('latency from queueing at the server does not raise concurrency', async () => {
  const clock = new VirtualClock();
  const limiter = new Limiter({ clock });
  await load(limiter, clock, { count: 20, latencyMs: () => 5 });
  const { most } = await load(limiter, clock, { count: 5_000, latencyMs: (underWay) => 3 * underWay });
  assert.ok(most <= 24, `${most} at once`);
});

test('high but stable latency still raises concurrency', async () => {
  const clock = new VirtualClock();
  const limiter = new Limiter({ clock });
  const { most } = await load(limiter, clock, { count: 5_000, latencyMs: () => 80 });
  assert.equal(most, 256);
});

test('qps and burst: a burst at once, then at the rate', async () => {
  const clock = new VirtualClock();
  const limiter = new Limiter({ clock, qps: 5, burst: 10 });
  const { tookMs } = await load(limiter, clock, { count: 20, latencyMs: () => 0 });
  assert.equal(tookMs, 2000);
  await clock.advance(60_000);
  const again = await load(limiter, clock, { count: 10, latencyMs: () => 0 });
  assert.equal(again.tookMs, 0);
});

test('an abort while waiting rejects with the reason and frees nothing it did not hold', async () => {
  const clock = new VirtualClock();
  const limiter = new Limiter({ clock });
  const held = await Promise.all(Array.from({ length: 16 }, () => limiter.enter('read')));
  const stop = new AbortController();
  const waiting = limiter.enter('read', stop.signal);
  const next = limiter.enter('read');
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  held[0]?.({ kind: 'unknown' });
  held[0]?.({ kind: 'unknown' });
  await next;
  const blocked = limiter.enter('read', AbortSignal.abort(new Error('full')));
  await assert.rejects(blocked, /full/);
});
