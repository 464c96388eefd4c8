import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../time/virtual-clock.ts';
import { askTwice } from './ask-twice.ts';

const SECOND_AFTER_MS = 100;

/** Requests that are answered by hand, in the order in which they were sent. */
function questions() {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const sent: { resolve: (answer: string) => void; reject: (error: Error) => void; signal: AbortSignal }[] =
    [];
  const asked = askTwice(
    { clock, secondAfterMs: SECOND_AFTER_MS, parent: stop.signal },
    (signal) => new Promise<string>((resolve, reject) => sent.push({ resolve, reject, signal })),
  );
  asked.catch(() => {});
  return { clock, stop, sent, asked };
}

test('a response in time makes a second request unnecessary', async () => {
  const { clock, sent, asked } = questions();
  sent[0]?.resolve('first');
  assert.equal(await asked, 'first');
  await clock.advance(10 * SECOND_AFTER_MS);
  assert.equal(sent.length, 1);
  assert.equal(clock.pendingTimers, 0);
});

test('the second request is answered first, and the first one is cancelled', async () => {
  const { clock, sent, asked } = questions();
  await clock.advance(SECOND_AFTER_MS);
  assert.equal(sent.length, 2);
  sent[1]?.resolve('second');
  assert.equal(await asked, 'second');
  assert.equal(sent[0]?.signal.aborted, true);
});

test('the first request fails, and the second one may still be answered', async () => {
  const { clock, sent, asked } = questions();
  sent[0]?.reject(new Error('lost'));
  await clock.advance(SECOND_AFTER_MS);
  sent[1]?.resolve('second');
  assert.equal(await asked, 'second');
});

test('both fail: the first error is reported', async () => {
  const { clock, sent, asked } = questions();
  await clock.advance(SECOND_AFTER_MS);
  sent[1]?.reject(new Error('second'));
  sent[0]?.reject(new Error('first'));
  await assert.rejects(asked, /second/);
  assert.equal(clock.pendingTimers, 0);
});

test('an aborted caller sends no further request', async () => {
  const { clock, stop, sent, asked } = questions();
  stop.abort(new Error('stop'));
  await assert.rejects(asked, /stop/);
  await clock.advance(10 * SECOND_AFTER_MS);
  assert.equal(sent.length, 1);
  assert.equal(sent[0]?.signal.aborted, true);
});
