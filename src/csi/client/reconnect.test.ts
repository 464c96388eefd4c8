// The client's way to a server that is slow, strict, restarting or not there, with a server that says just what a test
// tells it to.

import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { silentLog } from '../../runtime/log/log.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import {
  Flag,
  type Frame,
  FrameType,
  frameOf,
  goawayFrame,
  numberFrame,
  PREFACE,
  Setting,
  settingsFrame,
} from '../../wire/http2/frame.ts';
import { frameReader } from '../../wire/http2/frame-reader.ts';
import { HeaderEncoder } from '../../wire/http2/header-encoder.ts';
import { ErrorCode } from '../../wire/http2/http2-error.ts';
import { temporarySocket } from '../../wire/testing/test-socket.ts';
import type { CsiError } from '../csi-error.ts';
import { Controller, Identity } from '../generated/csi/v1/csi_pb.ts';
import { outcomeOf } from '../outcome.ts';
import { type CsiConnection, connectCsi } from './connect-csi.ts';
import { csiClient } from './csi-client.ts';

interface Peer {
  socket: Socket;
  frames: Frame[];
  send(...frames: Buffer[]): void;
  /** Header blocks and data that answer a call with OK and an empty message. */
  answer(stream: number, trailers?: Record<string, string>): void;
}

/** A server; `onFrame` sees all that a client says after its greeting. */
async function server(
  t: TestContext,
  options: {
    path?: string;
    settings?: [number, number][];
    isMute?: boolean;
    onFrame?: (frame: Frame, peer: Peer) => void;
  },
) {
  const path = options.path ?? (await temporarySocket(t));
  const peers: Peer[] = [];
  const listener = createServer((socket) => {
    let isGreeted = false;
    const encoder = new HeaderEncoder();
    const send = (...frames: Buffer[]) => socket.write(Buffer.concat(frames));
    const block = (fields: Record<string, string>) =>
      encoder.encode(Object.entries(fields).map(([name, value]) => ({ name, value })));
    const peer: Peer = {
      socket,
      frames: [],
      send,
      answer(stream, trailers = { 'grpc-status': '0' }) {
        const head = block({ ':status': '200', 'content-type': 'application/grpc' });
        send(
          frameOf(FrameType.HEADERS, Flag.END_HEADERS, stream, head),
          frameOf(FrameType.DATA, 0, stream, Buffer.alloc(5)),
          frameOf(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, stream, block(trailers)),
        );
      },
    };
    peers.push(peer);
    const reader = frameReader((frame) => {
      peer.frames.push(frame);
      options.onFrame?.(frame, peer);
    });
    socket.on('data', (chunk) => {
      reader.push(isGreeted ? chunk : chunk.subarray(PREFACE.length));
      isGreeted = true;
    });
    socket.on('error', () => {});
    if (!options.isMute) send(settingsFrame(options.settings ?? []));
  });
  await new Promise<void>((resolve) => listener.listen(path, resolve));
  const stop = async () => {
    for (const { socket } of peers) socket.destroy();
    await new Promise((resolve) => listener.close(resolve));
  };
  t.after(stop);
  return { path, peers, stop };
}

function open(t: TestContext, address: string, clock = realClock): CsiConnection {
  const connection = connectCsi({ address, log: silentLog, clock });
  t.after(() => connection.close());
  return connection;
}

const failure = (call: Promise<unknown>): Promise<CsiError> =>
  call.then(
    () => assert.fail('it succeeded'),
    (error: CsiError) => error,
  );
const isRequest = ({ type, flags }: Frame) => type === FrameType.DATA && (flags & Flag.END_STREAM) !== 0;
const calls = (connection: CsiConnection) => csiClient(Controller, connection, { timeoutMs: 20_000 });

describe('a server that is strict', () => {
  it('gets no more concurrent calls than it accepts, the others queue', async (t) => {
    const held: number[] = [];
    let most = 0;
    const { path } = await server(t, {
      settings: [[Setting.MAX_CONCURRENT_STREAMS, 3]],
      onFrame(frame, peer) {
        if (!isRequest(frame)) return;
        held.push(frame.stream);
        most = Math.max(most, held.length);
        setImmediate(() => peer.answer(held.shift() ?? 0));
      },
    });
    const connection = open(t, path);
    await connection.waitForReady();
    await Promise.all(
      Array.from({ length: 40 }, (_, at) => calls(connection).deleteVolume({ volumeId: `${at}` })),
    );
    assert.ok(most <= 3, `${most} at once`);
  });

  it('leaves calls waiting that can be given up, and goes on when it takes more', async (t) => {
    const { path, peers } = await server(t, {
      settings: [[Setting.MAX_CONCURRENT_STREAMS, 0]],
      onFrame: (frame, peer) => isRequest(frame) && peer.answer(frame.stream),
    });
    const connection = open(t, path);
    const late = failure(calls(connection).deleteVolume({ volumeId: 'a' }, { timeoutMs: 30 }));
    const patient = calls(connection).deleteVolume({ volumeId: 'b' });
    assert.equal((await late).code, 'DEADLINE_EXCEEDED');
    peers[0]?.send(settingsFrame([[Setting.MAX_CONCURRENT_STREAMS, 1]]));
    await patient;
    assert.equal(peers[0]?.frames.filter(isRequest).length, 1);
  });

  it('with a narrow window gets a request piece by piece', async (t) => {
    let bytes = 0;
    const { path } = await server(t, {
      settings: [[Setting.INITIAL_WINDOW_SIZE, 100]],
      onFrame(frame, peer) {
        if (frame.type !== FrameType.DATA) return;
        assert.ok(frame.payload.length <= 100);
        bytes += frame.payload.length;
        peer.send(numberFrame(FrameType.WINDOW_UPDATE, frame.stream, frame.payload.length));
        if (isRequest(frame)) peer.answer(frame.stream);
      },
    });
    const connection = open(t, path);
    await connection.waitForReady();
    await calls(connection).deleteVolume({ volumeId: 'x'.repeat(5000) });
    assert.ok(bytes > 5000);
  });
});

describe('what a driver did not say itself', () => {
  const ends: [name: string, code: string, end: (stream: number, peer: Peer) => void][] = [
    [
      'a reset',
      'INTERNAL',
      (stream, peer) => peer.send(numberFrame(FrameType.RST_STREAM, stream, ErrorCode.INTERNAL_ERROR)),
    ],
    [
      'a call for calm',
      'RESOURCE_EXHAUSTED',
      (stream, peer) => peer.send(numberFrame(FrameType.RST_STREAM, stream, ErrorCode.ENHANCE_YOUR_CALM)),
    ],
    ['an end without a status', 'UNKNOWN', (stream, peer) => peer.answer(stream, { 'x-nothing': '1' })],
    [
      'an answer that is not gRPC',
      'UNIMPLEMENTED',
      (stream, peer) => peer.send(frameOf(FrameType.HEADERS, Flag.END_HEADERS, stream, Buffer.from([0x8d]))),
    ],
    [
      'a compressed message',
      'INTERNAL',
      (stream, peer) => {
        const head = new HeaderEncoder().encode([
          { name: ':status', value: '200' },
          { name: 'content-type', value: 'application/grpc' },
        ]);
        peer.send(
          frameOf(FrameType.HEADERS, Flag.END_HEADERS, stream, head),
          frameOf(FrameType.DATA, 0, stream, Buffer.from([1, 0, 0, 0, 0])),
        );
      },
    ],
  ];
  for (const [name, code, end] of ends) {
    it(`gives no information about the outcome: ${name}`, async (t) => {
      const { path } = await server(t, {
        onFrame: (frame, peer) => isRequest(frame) && end(frame.stream, peer),
      });
      const error = await failure(calls(open(t, path)).createVolume({ name: 'v' }));
      assert.equal(error.code, code);
      assert.equal(outcomeOf('CreateVolume', error).outcome, 'maybe-in-progress');
    });
  }

  it('is not asked again by itself: a call that the server has refused is the caller’s to repeat', async (t) => {
    const { path, peers } = await server(t, {
      onFrame: (frame, peer) =>
        isRequest(frame) &&
        peer.send(numberFrame(FrameType.RST_STREAM, frame.stream, ErrorCode.REFUSED_STREAM)),
    });
    const error = await failure(calls(open(t, path)).createVolume({ name: 'v' }));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.equal(peers[0]?.frames.filter(isRequest).length, 1);
  });
});

describe('a server that comes and goes', () => {
  it('a GOAWAY moves new calls to a new connection, and calls in flight end on the old one', async (t) => {
    const { path, peers } = await server(t, {
      onFrame(frame, peer) {
        if (!isRequest(frame)) return;
        if (peers.length > 1) peer.answer(frame.stream);
        else peer.send(goawayFrame(frame.stream, ErrorCode.NO_ERROR, ''));
      },
    });
    const connection = open(t, path);
    const first = calls(connection).deleteVolume({ volumeId: 'first' });
    await new Promise<void>((resolve) => {
      const stop = connection.onStateChange((state) => {
        if (state !== 'idle') return;
        stop();
        resolve();
      });
    });
    await calls(connection).deleteVolume({ volumeId: 'second' });
    assert.equal(peers.length, 2);
    peers[0]?.answer(1);
    await first;
    assert.equal(connection.state, 'ready');
  });

  it('that is absent is retried with backoff while a call waits, and not longer', async (t) => {
    const path = await temporarySocket(t);
    const clock = new VirtualClock();
    const connection = open(t, path, clock);
    const controller = new AbortController();
    const states: string[] = [];
    const unsubscribe = connection.onStateChange((state) => states.push(state));
    const waiting = connection.waitForReady(controller.signal);
    waiting.catch(() => {});
    const until = async (state: string) => {
      while (connection.state !== state) await new Promise((resolve) => setImmediate(resolve));
    };
    await until('failing');
    assert.equal(
      (await failure(csiClient(Identity, connection, { timeoutMs: 1000 }).probe({}))).code,
      'UNAVAILABLE',
    );
    controller.abort();
    unsubscribe();
    await clock.advance(100);
    await until('idle');
    assert.deepEqual(states, ['connecting', 'failing']);
    assert.equal(clock.pendingTimers, 0);
  });

  it('that accepts and never answers times out', async (t) => {
    const { path } = await server(t, { isMute: true });
    const clock = new VirtualClock();
    const connection = open(t, path, clock);
    const call = failure(csiClient(Identity, connection, { timeoutMs: 60_000 }).probe({}));
    assert.equal(connection.state, 'connecting');
    await clock.advance(20_000);
    const error = await call;
    assert.equal(error.code, 'UNAVAILABLE');
    assert.match(error.message, /no answer within 20000 ms of connecting/);
  });

  it('that does not speak HTTP/2 is told from one that is not there', async (t) => {
    const path = await temporarySocket(t);
    const listener = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => listener.listen(path, resolve));
    t.after(() => listener.close());
    const error = await failure(csiClient(Identity, open(t, path), { timeoutMs: 5000 }).probe({}));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.doesNotMatch(error.message, /ENOENT|ECONNREFUSED/);
  });

  it('takes its calls with it, whatever state they are in', async (t) => {
    const { path, peers } = await server(t, {
      onFrame: (frame, peer) => isRequest(frame) && frame.stream === 3 && peer.socket.destroy(),
    });
    const connection = open(t, path);
    const errors = await Promise.all(
      ['a', 'b'].map((volumeId) => failure(calls(connection).deleteVolume({ volumeId }))),
    );
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['UNAVAILABLE', 'UNAVAILABLE'],
    );
    assert.equal(peers.length, 1);
  });
});
