import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { realClock } from './clock.ts';

describe('realClock', () => {
  it('keeps to the order of its timers, and never fires early', async () => {
    const seen: string[] = [];
    const startedAtMs = realClock.monotonicMs();
    const late = realClock.sleep(30.5).then(() => {
      seen.push('30.5');
      assert.ok(realClock.monotonicMs() - startedAtMs >= 30);
    });
    const soon = realClock.sleep(5).then(() => seen.push('5'));
    await Promise.all([late, soon, new Promise<void>((resolve) => realClock.setImmediate(resolve))]);
    assert.deepEqual(seen, ['5', '30.5']);
  });

  it('does not fire what is due in more than 25 days at once, and fires what is overdue', async () => {
    let fired = false;
    const timer = realClock.setTimeout(() => {
      fired = true;
    }, 2 ** 40);
    realClock.setImmediate(() => assert.fail('was cancelled')).cancel();
    await realClock.sleep(-5);
    await realClock.sleep(5);
    timer.cancel();
    timer.cancel();
    assert.equal(fired, false);
  });

  it('lets the process exit before a timer that was unreferenced', () => {
    const count = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = count();
    const timers = [3_600_000, 2 ** 40].map((delayMs) => realClock.setTimeout(() => {}, delayMs));
    assert.equal(count(), before + 2);
    for (const timer of timers) timer.unref?.();
    assert.equal(count(), before);
    for (const timer of timers) timer.cancel();
  });

  it('aborts a sleep with the reason', async () => {
    const abort = new AbortController();
    const sleeping = realClock.sleep(3_600_000, abort.signal);
    abort.abort(new Error('enough'));
    await assert.rejects(sleeping, /enough/);
  });
});
