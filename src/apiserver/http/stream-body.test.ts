// Response bodies over real sockets: sent in the turn of their client, whole, and to a client that leaves.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { realClock } from '../../runtime/time/clock.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { oneRequest } from '../testing/one-request.ts';
import { FairQueue } from './fair-queue.ts';
import { answerBody, streamChunks, writeNow } from './stream-body.ts';

const MEGABYTE = 1_000_000;

test("[DOOR-7] a response is encrypted and sent within its client's turn of the fair queue, not after it", async (t) => {
  const { response } = await oneRequest(t);
  writeNow(response, 'x'.repeat(MEGABYTE));
  assert.equal(response.socket?.writableCorked, 0);
});

test('[DOOR-7] a large body is sent in steps, between which other clients get their turns', async (t) => {
  const { response, client } = await oneRequest(t);
  const fair = new FairQueue(realClock);
  const body = 'x'.repeat(20 * MEGABYTE);
  const streaming = { response, machine: { clock: realClock }, fair, client: 'large' };
  const received = once(client, 'response').then(async ([answer]) => {
    let length = 0;
    for await (const chunk of answer) length += chunk.length;
    return length;
  });
  const sent = answerBody(streaming, body, { code: 200, pretty: false, warnings: [] });
  let isSent = false;
  void sent.then(() => {
    isSent = true;
  });
  await fair.once('small', () => assert.ok(!isSent));
  await sent;
  assert.equal(await received, body.length);
});

test('a client that disconnects during a body ends the response', async (t) => {
  const { response, client } = await oneRequest(t);
  const streaming = { response, machine: { clock: realClock }, fair: new FairQueue(realClock), client: 'a' };
  const sent = answerBody(streaming, 'x'.repeat(50 * MEGABYTE), { code: 200, pretty: false, warnings: [] });
  const [answer] = await once(client, 'response');
  answer.on('error', () => {});
  client.destroy();
  await sent;
});

test('a client that does not read the end of a body is disconnected', async (t) => {
  const { response, client } = await oneRequest(t);
  const clock = new VirtualClock();
  const streaming = { response, machine: { clock }, fair: new FairQueue(realClock), client: 'a' };
  // More than the sockets' buffers hold.
  const bytes = Buffer.alloc(50 * MEGABYTE);
  const sent = streamChunks(streaming, function* () {
    yield;
    return { bytes, isLast: true };
  });
  const [answer] = await once(client, 'response');
  answer.on('error', () => {});
  await clock.advance(30_000);
  await sent;
  assert.ok(response.destroyed);
});
