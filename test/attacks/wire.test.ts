// Attacks on the socket of a CSI server by a peer that may open it. What they cost the server is bounded.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Identity, implement, serveCsi } from '../../src/csi/index.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { Flag, FrameType, frameOf, PREFACE, settingsFrame } from '../../src/wire/http2/frame.ts';
import { frameReader } from '../../src/wire/http2/frame-reader.ts';
import { HeaderEncoder } from '../../src/wire/http2/header-encoder.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function attackedServer(t: TestContext): Promise<Socket> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-attack-'));
  const address = join(directory, 's');
  const services = [implement(Identity, { probe: () => ({}) })];
  const server = await serveCsi({ address, services, log: silentLog, clock: realClock });
  const socket = connect(address);
  t.after(async () => {
    socket.destroy();
    await server.stop(0);
    await rm(directory, { recursive: true, force: true });
  });
  return socket;
}

function openCall(stream: number): Buffer {
  const fields = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': '/csi.v1.Identity/Probe',
    'content-type': 'application/grpc',
    te: 'trailers',
  };
  const block = new HeaderEncoder().encode(
    [],
    Object.entries(fields).map(([name, value]) => ({ name, value })),
  );
  return frameOf(FrameType.HEADERS, Flag.END_HEADERS, stream, block);
}

/** Resolves when the server has dealt with everything that was sent before. */
async function ping(socket: Socket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const reader = frameReader(({ type, flags }) => {
      if (type === FrameType.PING && flags === Flag.ACK) resolve();
      if (type === FrameType.GOAWAY) reject(new Error('the server cut the connection off'));
    });
    socket.on('data', (chunk) => reader.push(chunk));
    socket.write(frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)));
  });
}

function heldMegabytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 2 ** 20;
}

test('[DOOR-2] a million DATA frames of one byte hold what their bytes hold', {
  timeout: 60_000,
}, async (t) => {
  const socket = await attackedServer(t);
  const before = heldMegabytes();
  socket.write(Buffer.concat([PREFACE, settingsFrame([]), openCall(1)]));
  const announced = Buffer.alloc(5);
  announced.writeUInt32BE(2_000_000, 1);
  socket.write(frameOf(FrameType.DATA, 0, 1, announced));
  const thousand = Buffer.concat(
    Array.from({ length: 1000 }, () => frameOf(FrameType.DATA, 0, 1, Buffer.from('x'))),
  );
  for (let sent = 0; sent < 1000; sent++) {
    if (!socket.write(thousand)) await new Promise((resolve) => socket.once('drain', resolve));
  }
  await ping(socket);
  const held = heldMegabytes() - before;
  assert.ok(held < 20, `the server holds ${held.toFixed(1)} MB for one megabyte of an unfinished request`);
});

test('[DOOR-2] announced lengths are not allocated', {
  timeout: 60_000,
}, async (t) => {
  const socket = await attackedServer(t);
  const before = heldMegabytes();
  const announced = Buffer.alloc(16);
  announced.writeUInt32BE(60_000_000, 1);
  socket.write(
    Buffer.concat([
      PREFACE,
      settingsFrame([]),
      ...Array.from({ length: 1000 }, (_, at) => [
        openCall(2 * at + 1),
        frameOf(FrameType.DATA, 0, 2 * at + 1, announced),
      ]).flat(),
    ]),
  );
  await ping(socket);
  const held = heldMegabytes() - before;
  assert.ok(held < 20, `the server holds ${held.toFixed(1)} MB for 1,000 requests of 16 bytes`);
});
