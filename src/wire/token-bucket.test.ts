import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenBucket } from './token-bucket.ts';

function bucketAt(options: { burst: number; perSecond: number }) {
  const time = { ms: 0 };
  const bucket = new TokenBucket({ clock: { monotonicMs: () => time.ms }, ...options });
  return { bucket, time };
}

test('gives its burst at once, then tokens at its pace, and never saves up more than its burst', () => {
  const { bucket, time } = bucketAt({ burst: 3, perSecond: 10 });
  const taken = () => [1, 2, 3, 4].map(() => bucket.take());
  assert.deepEqual(taken(), [true, true, true, false]);
  time.ms += 100;
  assert.deepEqual(taken(), [true, false, false, false]);
  time.ms += 60_000;
  assert.deepEqual(taken(), [true, true, true, false]);
});

test('says how long until there is a token', () => {
  const { bucket, time } = bucketAt({ burst: 1, perSecond: 4 });
  assert.equal(bucket.waitMs(), 0);
  bucket.take();
  assert.equal(bucket.waitMs(), 250);
  time.ms += 100;
  assert.equal(Math.round(bucket.waitMs()), 150);
});

test('reserves tokens that are not there yet: each caller waits one interval longer', () => {
  const { bucket, time } = bucketAt({ burst: 2, perSecond: 10 });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => Math.round(bucket.reserve())),
    [0, 0, 100, 200],
  );
  time.ms += 200;
  assert.equal(Math.round(bucket.reserve()), 100);
});
