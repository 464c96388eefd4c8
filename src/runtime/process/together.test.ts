// Parts that stop together.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { together } from './together.ts';

const steady = (onStop: () => void) => ({
  run: (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        onStop();
        resolve();
      });
    }),
});

test('[SIDE-6] a part that fails stops the others, and its error is the one reported', async () => {
  let stopped = false;
  const parts = [
    steady(() => {
      stopped = true;
    }),
    { run: () => Promise.reject(new Error('cannot go on')) },
  ];
  await assert.rejects(together(parts).run(new AbortController().signal), /cannot go on/);
  assert.ok(stopped);
});

test('[SIDE-6] on its signal it waits for every part and rejects with the reason', async () => {
  const stop = new AbortController();
  let ended = 0;
  const parts = [1, 2].map(() => steady(() => (ended += 1)));
  const running = together(parts).run(stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(running, /enough/);
  assert.equal(ended, 2);
});
