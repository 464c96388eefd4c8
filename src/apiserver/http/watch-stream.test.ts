// When a watch starts, waits for its client and ends. What watches show is tested over HTTPS.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { oneRequest } from '../testing/one-request.ts';
import { streamWatch, type WatchStreamOptions } from './watch-stream.ts';

/** A client that reads when it is told to: what was written, and how the response ended. */
class Client extends EventEmitter {
  readonly written: string[] = [];
  reads = true;
  destroyed = false;
  ended = false;

  writeHead(): void {}
  flushHeaders(): void {}
  write(text: string): boolean {
    this.written.push(text);
    return this.reads;
  }
  end(text?: string): void {
    if (text) this.written.push(text);
    this.ended = true;
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
  /** The types and numbers of the events that were written since the last call. */
  taken(): string {
    const lines = this.written
      .splice(0)
      .join('')
      .split('\n')
      .filter((line) => line !== '');
    return lines
      .map((line) => JSON.parse(line))
      .map(({ type, object }) => `${type} ${object.n ?? object.code ?? object.metadata.resourceVersion}`)
      .join(', ');
  }
}

function watching(options: Partial<WatchStreamOptions> = {}) {
  const client = new Client();
  const clock = new VirtualClock();
  const stopping = new AbortController();
  const errors: string[] = [];
  let sink: (event: object) => void = () => {};
  let isFollowed = true;
  const over = streamWatch({
    machine: {
      clock,
      store: { revision: 7 },
      stopping: stopping.signal,
      log: { error: (message: string) => errors.push(message) },
    },
    response: client,
    kind: { kind: 'Pod', group: '', version: 'v1' },
    media: { format: 'json' },
    includeObject: 'Metadata',
    allowBookmarks: false,
    timeoutMs: 3_600_000,
    start: () => ({
      past: [].values(),
      endsWithBookmark: false,
      follow: (listener: typeof sink) => {
        sink = listener;
        return () => {
          isFollowed = false;
        };
      },
    }),
    async takeTurns(work: () => Iterable<void>) {
      for (const _ of work());
    },
    ...options,
  } as unknown as WatchStreamOptions);
  let isOver = false;
  void over.then(() => {
    isOver = true;
  });
  const push = (n: number, text = '') =>
    sink({ kind: 'object', type: 'ADDED', version: { text: JSON.stringify({ n, text }) } });
  return { client, clock, stopping, errors, push, over, isOver: () => isOver, isFollowed: () => isFollowed };
}

test('events wait while the client does not read, and follow in order when it does', async () => {
  const { client, clock, push, isOver } = watching();
  push(1);
  await clock.advance(10);
  assert.equal(client.taken(), 'ADDED 1');
  client.reads = false;
  push(2);
  await clock.advance(10);
  assert.equal(client.taken(), 'ADDED 2');
  push(3);
  push(4);
  await clock.advance(29_000);
  assert.equal(client.taken(), '');
  client.reads = true;
  client.emit('drain');
  await clock.advance(60_000);
  assert.equal(client.taken(), 'ADDED 3, ADDED 4');
  assert.equal(isOver(), false);
});

test('a client that reads nothing for 30 seconds is disconnected', async () => {
  const { client, clock, push, over, isFollowed } = watching();
  client.reads = false;
  push(1);
  await clock.advance(29_000);
  assert.equal(client.destroyed, false);
  await clock.advance(2_000);
  assert.equal(client.destroyed, true);
  await over;
  assert.equal(isFollowed(), false);
});

test('a client that falls too far behind is disconnected when it has read the rest', async () => {
  const { client, clock, push, over } = watching();
  client.reads = false;
  push(0);
  await clock.advance(10);
  for (let n = 1; n <= 10_001; n++) push(n);
  client.taken();
  client.reads = true;
  client.emit('drain');
  await over;
  assert.equal(client.taken().split(', ').length, 10_000);
  assert.equal(client.destroyed, true);
});

test('events at one time are written together, in chunks of 64 KiB', async () => {
  const { client, clock, push } = watching();
  for (let n = 0; n < 4; n++) push(n, 'x'.repeat(40_000));
  await clock.advance(10);
  assert.deepEqual(
    client.written.map((text) => text.split('\n').length - 1),
    [2, 2],
  );
});

test('a watch has a bookmark every minute, if it wants any, and a last one when its time is up', async () => {
  const asking = watching({ allowBookmarks: true, timeoutMs: 150_000 });
  await asking.clock.advance(59_000);
  assert.equal(asking.client.taken(), '');
  await asking.clock.advance(2_000);
  assert.equal(asking.client.taken(), 'BOOKMARK 7');
  await asking.clock.advance(60_000);
  assert.equal(asking.client.taken(), 'BOOKMARK 7');
  await asking.clock.advance(30_000);
  await asking.over;
  assert.equal(asking.client.taken(), 'BOOKMARK 7');
  assert.equal(asking.client.ended, true);
  const other = watching({ timeoutMs: 150_000 });
  await other.clock.advance(151_000);
  await other.over;
  assert.deepEqual([other.client.taken(), other.client.ended], ['', true]);
});

test('a watch ends with its server, its client, or an error of its own', async () => {
  const stopped = watching();
  stopped.stopping.abort();
  await stopped.over;
  assert.equal(stopped.client.ended, true);
  const left = watching();
  left.client.emit('close');
  await left.over;
  assert.deepEqual([left.client.ended, left.client.destroyed, left.isFollowed()], [false, false, false]);
  left.push(1);
  await left.clock.advance(10);
  assert.equal(left.client.taken(), '');
  const failed = watching({ takeTurns: () => Promise.reject(new Error('no')) });
  await failed.over;
  assert.deepEqual([failed.client.taken(), failed.errors], ['ERROR 500', ['a watch failed']]);
});

test('a watch that is too old begins with its error; any other error is the answer', async () => {
  const failing = (code: number) => () => {
    throw new KubeError({ reason: 'Expired', code, message: 'too old' });
  };
  const old = watching({ start: failing(410) });
  await old.over;
  assert.deepEqual([old.client.taken(), old.client.ended], ['ERROR 410', true]);
  assert.throws(() => watching({ start: failing(400) }), KubeError);
  assert.throws(
    () =>
      watching({
        start: () => {
          throw new Error('odd');
        },
      }),
    /odd/,
  );
});

test('[DOOR-7] a watch whose client disconnected while it was queued does not start and does not count', async (t) => {
  const { response, client } = await oneRequest(t);
  client.destroy();
  await once(response, 'close');
  await streamWatch({
    response,
    machine: {},
    start: () => assert.fail('it was started'),
  } as unknown as WatchStreamOptions);
});
