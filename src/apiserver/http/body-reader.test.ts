// Request bodies over real sockets: whole, in pieces, too large, too slow, too many.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { BodyReader, defaultBodyLimits } from './body-reader.ts';

/** Sends the pieces in order; the body is finished only if the last piece is `null`. */
async function send(t: { after(f: () => void): void }, pieces: readonly (string | null)[]) {
  const received = Promise.withResolvers<IncomingMessage>();
  const server = createServer((message) => received.resolve(message)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sending = request({ port, method: 'POST' });
  sending.on('error', () => {});
  t.after(() => {
    sending.destroy();
    server.closeAllConnections();
    server.close();
  });
  for (const piece of pieces) {
    if (piece === null) sending.end();
    else await new Promise((resolve) => sending.write(piece, resolve));
  }
  return received.promise;
}

const code = (expected: number) => (error: unknown) => error instanceof KubeError && error.code === expected;
const limits = (own: Partial<typeof defaultBodyLimits>) => ({ ...defaultBodyLimits, ...own });

test('a body that arrives in pieces is one body, and counts until it is released', async (t) => {
  const bodies = new BodyReader(new VirtualClock());
  const body = await bodies.read(await send(t, ['ab', 'cde', 'f', null]), 'a');
  assert.equal(body.bytes?.toString(), 'abcdef');
  assert.deepEqual(bodies.usage, { bodies: 1, bytes: defaultBodyLimits.maxBytes });
  body.release();
  body.release();
  assert.deepEqual(bodies.usage, { bodies: 0, bytes: 0 });
});

test('a request without a body gives undefined', async (t) => {
  const bodies = new BodyReader(new VirtualClock());
  assert.equal((await bodies.read(await send(t, [null]), 'a')).bytes, undefined);
});

test('[DOOR-1] a body that does not arrive times out, and no longer counts', async (t) => {
  const clock = new VirtualClock();
  const bodies = new BodyReader(clock);
  const reading = bodies.read(await send(t, ['half']), 'a');
  const refused = assert.rejects(reading, code(408));
  await clock.advance(defaultBodyLimits.timeoutMs);
  await refused;
  assert.deepEqual(bodies.usage, { bodies: 0, bytes: 0 });
});

test('a body that is larger than allowed is refused, declared or not', async (t) => {
  const bodies = new BodyReader(new VirtualClock(), limits({ maxBytes: 10 }));
  await assert.rejects(bodies.read(await send(t, ['12345', '678901']), 'a'), code(413));
});

test('[DOOR-1] bodies are limited in number, for each client and for all', async (t) => {
  const some = { bodies: 1, bytes: defaultBodyLimits.maxBytes };
  const own = new BodyReader(new VirtualClock(), limits({ perClient: some }));
  await own.read(await send(t, ['x', null]), 'a');
  await assert.rejects(own.read(await send(t, ['x', null]), 'a'), code(429));
  await own.read(await send(t, ['x', null]), 'b');
  const shared = new BodyReader(new VirtualClock(), limits({ all: some }));
  const first = await shared.read(await send(t, ['x', null]), 'a');
  await assert.rejects(shared.read(await send(t, ['x', null]), 'b'), code(429));
  first.release();
  await shared.read(await send(t, ['x', null]), 'b');
});

test('[DOOR-1] a body above the limit waits until another is released', async (t) => {
  const { maxBytes, perClient } = defaultBodyLimits;
  const clock = new VirtualClock();
  const bodies = new BodyReader(clock, limits({ perClient: { ...perClient, bytes: maxBytes } }));
  const first = await bodies.read(await send(t, ['first', null]), 'a');
  const second = bodies.read(await send(t, ['second', null]), 'a');
  const late = bodies.read(await send(t, ['late', null]), 'a');
  const other = await bodies.read(await send(t, ['other', null]), 'b');
  assert.equal(other.bytes?.toString(), 'other');
  assert.deepEqual(bodies.usage, { bodies: 4, bytes: 2 * maxBytes });
  first.release();
  assert.equal((await second).bytes?.toString(), 'second');
  const refused = assert.rejects(late, code(429));
  await clock.advance(defaultBodyLimits.timeoutMs);
  await refused;
});
