// The queue of a watcher, and the tokens of paged lists.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import { decodeContinueToken, encodeContinueToken } from './continue-token.ts';
import { WatchQueue } from './watch-queue.ts';

const event = (revision: number) => ({ kind: 'event', revision }) as never;

function queue(past: unknown[] = [], endsWithBookmark = false) {
  let push: (event: never) => void = () => {};
  let wakes = 0;
  let isFollowed = true;
  const made = new WatchQueue(
    {
      past: past.values(),
      endsWithBookmark,
      follow: (listener: typeof push) => {
        push = listener;
        return () => {
          isFollowed = false;
        };
      },
    } as never,
    7,
    () => wakes++,
  );
  return { made, push: (each: never) => push(each), wakes: () => wakes, isFollowed: () => isFollowed };
}

test('a watcher gets the past first, then a bookmark if it wants one, then what happens', () => {
  const { made, push, wakes } = queue([event(1), undefined, event(2)], true);
  push(event(8));
  assert.equal(wakes(), 1);
  assert.deepEqual(made.take(), event(1));
  assert.equal(made.take(), 'searching');
  assert.deepEqual(made.take(), event(2));
  assert.deepEqual(made.take(), { kind: 'bookmark', revision: 7, initialEventsEnd: true });
  assert.deepEqual(made.take(), event(8));
  assert.equal(made.take(), undefined);
  made.bookmark(9);
  assert.deepEqual(made.take(), { kind: 'bookmark', revision: 9, initialEventsEnd: false });
});

test('a watcher gets every event once and in order, however it lags', () => {
  const { made, push } = queue();
  let taken = 0;
  let pushed = 0;
  for (const [pushes, takes] of [
    [1, 1],
    [51, 51],
    [120, 60],
    [30, 90],
    [9_990, 9_990],
    [15, 5],
    [9_985, 9_995],
  ] as const) {
    for (let count = 0; count < pushes; count++) push(event(++pushed));
    for (let count = 0; count < takes; count++) assert.deepEqual(made.take(), event(++taken));
  }
  assert.equal(made.take(), undefined);
  assert.equal(made.overflowed, false);
});

test('a watcher that lags too far is closed', () => {
  const { made, push, isFollowed } = queue();
  for (let count = 1; count <= 10_000; count++) push(event(count));
  assert.deepEqual([made.overflowed, isFollowed()], [false, true]);
  push(event(10_001));
  assert.deepEqual([made.overflowed, isFollowed()], [true, false]);
});

test('a closed queue is empty and follows nothing', () => {
  const { made, push, isFollowed } = queue([event(1)]);
  push(event(2));
  made.close();
  assert.equal(made.take(), undefined);
  assert.equal(isFollowed(), false);
});

test('a continue token is read back', () => {
  for (const token of [
    { revision: 5, startAfter: 'ns/name' },
    { revision: -1, startAfter: 'x' },
  ])
    assert.deepEqual(decodeContinueToken(encodeContinueToken(token)), token);
});

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const good = { v: 'meta.k8s.io/v1', rv: 5, start: 'x' };
for (const token of [
  'x',
  '',
  encoded(null),
  encoded({}),
  encoded({ ...good, v: 'meta.k8s.io/v2' }),
  encoded({ ...good, rv: '5' }),
  encoded({ ...good, rv: 5.5 }),
  encoded({ ...good, start: '' }),
  encoded({ ...good, start: 5 }),
]) {
  test(`a continue token that is none is refused: ${token}`, () => {
    assert.throws(
      () => decodeContinueToken(token),
      (error) => error instanceof KubeError && error.code === 400,
    );
  });
}
