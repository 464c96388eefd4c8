// The rules of a connection, at the level of frames: what a peer that keeps to them gets, what becomes of one that does
// not, and that nothing it sends does anything else.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { testClock } from '../testing/test-clock.ts';
import { temporarySocket } from '../testing/test-socket.ts';
import {
  Flag,
  type Frame,
  FrameType,
  frameOf,
  goawayFrame,
  HEADER_BYTES,
  numberFrame,
  PREFACE,
  Setting,
  settingsFrame,
} from './frame.ts';
import { frameReader } from './frame-reader.ts';
import { HeaderEncoder } from './header-encoder.ts';
import { Http2Connection, MAX_STREAMS } from './http2-connection.ts';
import { ErrorCode } from './http2-error.ts';
import type { Http2Stream, StreamFailure } from './http2-stream.ts';

interface Seen {
  stream: Http2Stream;
  fields: string[][];
  bytes: number;
  isEnded: boolean;
  isTooLong: boolean;
  failure: StreamFailure | undefined;
}

/** Our end as a server, and a socket on which a test says what it likes. */
async function world(t: TestContext, options: { isGenerous?: boolean } = {}) {
  const { isGenerous = true } = options;
  const path = await temporarySocket(t);
  const accepted = Promise.withResolvers<Http2Connection>();
  const closed = Promise.withResolvers<Error | undefined>();
  const streams: Seen[] = [];
  const server = createServer((socket) => {
    const connection: Http2Connection = new Http2Connection({
      socket,
      clock: testClock,
      accept(stream) {
        const seen: Seen = {
          stream,
          fields: [],
          bytes: 0,
          isEnded: false,
          isTooLong: false,
          failure: undefined,
        };
        streams.push(seen);
        return {
          headers(fields, { isEnd, isTooLong }) {
            seen.fields.push([...fields]);
            seen.isEnded ||= isEnd;
            seen.isTooLong = isTooLong;
          },
          data(bytes, isEnd) {
            seen.bytes += bytes.length;
            seen.isEnded ||= isEnd;
            if (isGenerous) connection.grant(stream, bytes.length);
          },
          aborted(failure) {
            seen.failure = failure;
          },
        };
      },
      onLeaving() {},
      onClosed: closed.resolve,
    });
    accepted.resolve(connection);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const socket = connect(path);
  t.after(() => {
    socket.destroy();
    server.close();
  });
  const peer = rawPeer(socket);
  return { peer, connection: await accepted.promise, closed: closed.promise, streams };
}

/** Frames to and from a socket. */
function rawPeer(socket: Socket) {
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  const look = () => {
    for (const each of [...waiting]) each();
  };
  const reader = frameReader((frame) => frames.push({ ...frame, payload: Buffer.from(frame.payload) }));
  socket.on('data', (chunk) => {
    reader.push(chunk);
    look();
  });
  socket.on('error', () => {});
  socket.on('close', look);
  const encoder = new HeaderEncoder();
  return {
    socket,
    frames,
    send: (...parts: Buffer[]) => socket.write(Buffer.concat(parts)),
    headers: (stream: number, flags: number, fields: Fields = request) => {
      const block = encoder.encode(fields.map(([name, value]) => ({ name, value })));
      return frameOf(FrameType.HEADERS, flags | Flag.END_HEADERS, stream, block);
    },
    /** Resolves with the first frame for which it holds; rejects when the socket closes without one. */
    frame: (matches: (frame: Frame) => boolean): Promise<Frame> =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = frames.find(matches);
          if (!found && !socket.destroyed) return;
          waiting.delete(check);
          if (found) resolve(found);
          else reject(new Error('the connection was closed'));
        };
        waiting.add(check);
        check();
      }),
  };
}

type Fields = readonly (readonly [name: string, value: string])[];
const request: Fields = [
  [':method', 'POST'],
  [':path', '/x'],
  [':scheme', 'http'],
];
const requestBlock = () => new HeaderEncoder().encode(request.map(([name, value]) => ({ name, value })));
const hello = Buffer.concat([PREFACE, settingsFrame([])]);
const isType = (type: number, stream?: number) => (frame: Frame) =>
  frame.type === type && (stream === undefined || frame.stream === stream);
const goaway = (frame: Frame) => ({
  last: frame.payload.readUInt32BE(0),
  code: frame.payload.readUInt32BE(4),
  text: frame.payload.subarray(8).toString(),
});
const { END_STREAM, END_HEADERS, PADDED, PRIORITY, ACK } = Flag;
const nothing = Buffer.alloc(0);

describe('frames', () => {
  it('are found again however they were cut', () => {
    const frame = fc.record({
      type: fc.nat({ max: 255 }),
      flags: fc.nat({ max: 255 }),
      stream: fc.nat({ max: 2 ** 31 - 1 }),
      payload: fc.uint8Array({ maxLength: 40 }),
    });
    const property = fc.property(
      fc.array(frame, { maxLength: 8 }),
      fc.array(fc.nat({ max: 30 })),
      (all, cuts) => {
        const bytes = Buffer.concat(
          all.map(({ type, flags, stream, payload }) => frameOf(type, flags, stream, payload)),
        );
        const read: Frame[] = [];
        const reader = frameReader((each) => read.push(each));
        let at = 0;
        for (const cut of [...cuts, bytes.length]) {
          reader.push(bytes.subarray(at, at + cut));
          at = Math.min(bytes.length, at + cut);
        }
        assert.deepEqual(
          read.map((each) => ({ ...each, payload: [...each.payload] })),
          all.map((each) => ({ ...each, payload: [...each.payload] })),
        );
      },
    );
    fc.assert(property, { numRuns: 500 });
  });
});

describe('a peer that keeps to the rules', () => {
  it('is greeted, and its settings and pings are answered', async (t) => {
    const { peer } = await world(t);
    peer.send(hello, frameOf(FrameType.PING, 0, 0, Buffer.from('12345678')));
    const pong = await peer.frame(isType(FrameType.PING));
    assert.deepEqual([pong.flags, pong.payload.toString()], [ACK, '12345678']);
    const settings = peer.frames.filter(isType(FrameType.SETTINGS));
    assert.deepEqual(
      settings.map(({ flags }) => flags),
      [0, ACK],
    );
  });

  it('may pad, give advice on priorities, and use types that nobody knows', async (t) => {
    const { peer, streams } = await world(t);
    const padded = Buffer.concat([Buffer.from([3]), Buffer.alloc(5), requestBlock(), Buffer.alloc(3)]);
    peer.send(
      hello,
      frameOf(FrameType.HEADERS, END_HEADERS | PADDED | PRIORITY, 1, padded),
      frameOf(FrameType.PRIORITY, 0, 1, Buffer.alloc(5)),
      frameOf(99, 0xff, 0, Buffer.from('whatever')),
      frameOf(FrameType.DATA, PADDED | END_STREAM, 1, Buffer.from([2, 65, 66, 0, 0])),
      frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)),
    );
    await peer.frame(isType(FrameType.PING));
    const [seen] = streams;
    assert.deepEqual(seen?.fields, [request.flat()]);
    assert.deepEqual([seen?.bytes, seen?.isEnded], [2, true]);
  });

  it('may send a header block in parts', async (t) => {
    const { peer, streams } = await world(t);
    const block = requestBlock();
    peer.send(
      hello,
      frameOf(FrameType.HEADERS, END_STREAM, 1, block.subarray(0, 2)),
      frameOf(FrameType.CONTINUATION, 0, 1, block.subarray(2, 4)),
      frameOf(FrameType.CONTINUATION, END_HEADERS, 1, block.subarray(4)),
      frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)),
    );
    await peer.frame(isType(FrameType.PING));
    assert.deepEqual([streams[0]?.fields, streams[0]?.isEnded], [[request.flat()], true]);
  });

  it('gets a WINDOW_UPDATE as its data is consumed, and no sooner', async (t) => {
    for (const isGenerous of [true, false]) {
      const { peer, streams } = await world(t, { isGenerous });
      peer.send(hello, peer.headers(1, 0));
      for (let at = 0; at < 40; at++) peer.send(frameOf(FrameType.DATA, 0, 1, Buffer.alloc(16_384)));
      peer.send(frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)));
      await peer.frame(isType(FrameType.PING));
      assert.equal(streams[0]?.bytes, 40 * 16_384);
      assert.equal(peer.frames.some(isType(FrameType.WINDOW_UPDATE, 1)), isGenerous);
    }
  });

  it('gets data up to its flow-control window, and the rest after a WINDOW_UPDATE', async (t) => {
    const { peer, connection, streams } = await world(t);
    peer.send(
      Buffer.concat([PREFACE, settingsFrame([[Setting.INITIAL_WINDOW_SIZE, 10]])]),
      peer.headers(1, END_STREAM),
    );
    await peer.frame((frame) => frame.type === FrameType.SETTINGS && frame.flags === ACK);
    const stream = streams[0]?.stream as Http2Stream;
    let isSent = false;
    const text = Buffer.concat([Buffer.alloc(HEADER_BYTES), Buffer.from('0123456789abcdefghij')]);
    connection.sendHeaders(stream, { known: [{ name: ':status', value: '200' }] });
    connection.sendData(stream, text, false, () => {
      isSent = true;
    });
    connection.sendHeaders(stream, { known: [{ name: 'grpc-status', value: '0' }], isEnd: true });
    await peer.frame(isType(FrameType.DATA));
    assert.deepEqual([isSent, peer.frames.filter(isType(FrameType.HEADERS)).length], [false, 1]);
    peer.send(numberFrame(FrameType.WINDOW_UPDATE, 1, 3));
    await peer.frame((frame) => frame.type === FrameType.DATA && frame.payload.length === 3);
    // A larger window for all streams counts for those that are open.
    peer.send(settingsFrame([[Setting.INITIAL_WINDOW_SIZE, 100]]));
    await peer.frame((frame) => frame.type === FrameType.HEADERS && (frame.flags & END_STREAM) !== 0);
    const data = peer.frames.filter(isType(FrameType.DATA)).map(({ payload }) => payload.toString());
    assert.deepEqual(data, ['0123456789', 'abc', 'defghij']);
    assert.equal(isSent, true);
  });

  it('gets data in frames of the size that it takes, and long headers in parts', async (t) => {
    const { peer, connection, streams } = await world(t);
    peer.send(hello, peer.headers(1, END_STREAM), frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)));
    await peer.frame(isType(FrameType.PING));
    const stream = streams[0]?.stream as Http2Stream;
    connection.sendHeaders(stream, { known: [], once: [{ name: 'x', value: 'y'.repeat(40_000) }] });
    connection.sendData(stream, Buffer.alloc(HEADER_BYTES + 40_000), true);
    await peer.frame((frame) => frame.type === FrameType.DATA && (frame.flags & END_STREAM) !== 0);
    const sizes = (type: number) => peer.frames.filter(isType(type)).map(({ payload }) => payload.length);
    assert.deepEqual(sizes(FrameType.DATA), [16_384, 16_384, 7232]);
    assert.deepEqual([sizes(FrameType.HEADERS).length, sizes(FrameType.CONTINUATION).length], [1, 2]);
  });

  it('gets a GOAWAY on shutdown, after streams in flight have ended', async (t) => {
    const { peer, connection, streams, closed } = await world(t);
    peer.send(hello, peer.headers(1, END_STREAM), frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)));
    await peer.frame(isType(FrameType.PING));
    connection.leave();
    assert.equal(goaway(await peer.frame(isType(FrameType.GOAWAY))).last, 1);
    peer.send(peer.headers(3, END_STREAM));
    const refused = await peer.frame(isType(FrameType.RST_STREAM, 3));
    assert.equal(refused.payload.readUInt32BE(), ErrorCode.REFUSED_STREAM);
    connection.sendHeaders(streams[0]?.stream as Http2Stream, { known: [], isEnd: true });
    await peer.frame(isType(FrameType.HEADERS, 1));
    assert.equal(await closed, undefined);
  });

  it('may reset a call', async (t) => {
    const { peer, streams } = await world(t);
    peer.send(
      hello,
      peer.headers(1, 0),
      numberFrame(FrameType.RST_STREAM, 1, ErrorCode.CANCEL),
      numberFrame(FrameType.WINDOW_UPDATE, 1, 5),
      peer.headers(3, END_STREAM),
      frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)),
    );
    await peer.frame(isType(FrameType.PING));
    assert.deepEqual([streams[0]?.failure?.kind, streams[0]?.failure?.code], ['reset', ErrorCode.CANCEL]);
    assert.equal(streams.length, 2);
  });

  it('frames in flight on a reset stream are ignored', async (t) => {
    const { peer, connection, streams } = await world(t);
    peer.send(hello, peer.headers(1, 0), frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)));
    await peer.frame(isType(FrameType.PING));
    connection.reset(streams[0]?.stream as Http2Stream, ErrorCode.CANCEL);
    peer.send(
      frameOf(FrameType.DATA, 0, 1, Buffer.alloc(5)),
      numberFrame(FrameType.WINDOW_UPDATE, 1, 5),
      peer.headers(1, END_STREAM, [['x', 'y']]),
      frameOf(FrameType.PING, 0, 0, Buffer.from('2nd ping')),
    );
    await peer.frame((frame) => frame.payload.toString() === '2nd ping');
    assert.equal(peer.frames.filter(isType(FrameType.RST_STREAM)).length, 1);
    assert.equal(streams[0]?.bytes, 0);
  });
});

type Break = (peer: ReturnType<typeof rawPeer>) => Buffer[];

const breaks: [name: string, code: number, frames: Break][] = [
  ['does not speak HTTP/2', ErrorCode.PROTOCOL_ERROR, () => [Buffer.from('GET / HTTP/1.1\r\n\r\n')]],
  [
    'does not begin with settings',
    ErrorCode.PROTOCOL_ERROR,
    () => [PREFACE, frameOf(6, 0, 0, Buffer.alloc(8))],
  ],
  [
    'sends a frame that is too long',
    ErrorCode.FRAME_SIZE_ERROR,
    () => [hello, Buffer.from('ffffff000000000001', 'hex')],
  ],
  ['pings with the wrong size', ErrorCode.FRAME_SIZE_ERROR, () => [hello, frameOf(6, 0, 0, Buffer.alloc(7))]],
  ['pings for a stream', ErrorCode.PROTOCOL_ERROR, () => [hello, frameOf(6, 0, 1, Buffer.alloc(8))]],
  [
    'sends settings that are cut short',
    ErrorCode.FRAME_SIZE_ERROR,
    () => [hello, frameOf(4, 0, 0, Buffer.alloc(5))],
  ],
  [
    'acknowledges settings at length',
    ErrorCode.FRAME_SIZE_ERROR,
    () => [hello, frameOf(4, ACK, 0, Buffer.alloc(6))],
  ],
  ['asks for frames that are too small', ErrorCode.PROTOCOL_ERROR, () => [hello, settingsFrame([[5, 100]])]],
  ['asks for a window too large', ErrorCode.FLOW_CONTROL_ERROR, () => [hello, settingsFrame([[4, 2 ** 31]])]],
  ['opens a window too far', ErrorCode.FLOW_CONTROL_ERROR, () => [hello, numberFrame(8, 0, 2 ** 31 - 1)]],
  ['opens a window by nothing', ErrorCode.PROTOCOL_ERROR, () => [hello, numberFrame(8, 0, 0)]],
  ['pushes', ErrorCode.PROTOCOL_ERROR, () => [hello, frameOf(5, 4, 1, Buffer.alloc(4))]],
  [
    'sends data for a stream that is not open',
    ErrorCode.PROTOCOL_ERROR,
    () => [hello, frameOf(0, 0, 1, nothing)],
  ],
  ['sends data for no stream', ErrorCode.PROTOCOL_ERROR, () => [hello, frameOf(0, 0, 0, nothing)]],
  ['sends headers for no stream', ErrorCode.PROTOCOL_ERROR, (peer) => [hello, peer.headers(0, 0)]],
  ['opens a stream with an even number', ErrorCode.PROTOCOL_ERROR, (peer) => [hello, peer.headers(2, 0)]],
  [
    'opens a stream again',
    ErrorCode.STREAM_CLOSED,
    (peer) => [hello, peer.headers(1, 0), numberFrame(3, 1, 8), peer.headers(1, 0)],
  ],
  [
    'opens a stream that it has skipped',
    ErrorCode.STREAM_CLOSED,
    (peer) => [hello, peer.headers(5, 0), peer.headers(3, 0)],
  ],
  ['gives a stream its own priority', ErrorCode.PROTOCOL_ERROR, () => [hello, priority(1, 1)]],
  ['gives no stream a priority', ErrorCode.PROTOCOL_ERROR, () => [hello, priority(0, 1)]],
  ['gives half a priority', ErrorCode.FRAME_SIZE_ERROR, () => [hello, frameOf(2, 0, 1, Buffer.alloc(4))]],
  ['allows pushes by half', ErrorCode.PROTOCOL_ERROR, () => [hello, settingsFrame([[2, 2]])]],
  [
    'sends hundreds of settings in a frame',
    ErrorCode.ENHANCE_YOUR_CALM,
    () => [hello, settingsFrame(Array.from({ length: 100 }, (_, at) => [4, at]))],
  ],
  [
    'sends malformed requests without end',
    ErrorCode.ENHANCE_YOUR_CALM,
    (peer) => [hello, ...Array.from({ length: 1200 }, (_, at) => peer.headers(2 * at + 1, 0, [['x', 'y']]))],
  ],
  [
    'has something else between the parts of a header block',
    ErrorCode.PROTOCOL_ERROR,
    () => [hello, frameOf(1, 0, 1, Buffer.from([0x82])), frameOf(6, 0, 0, Buffer.alloc(8))],
  ],
  [
    'continues a header block on another stream',
    ErrorCode.PROTOCOL_ERROR,
    () => [hello, frameOf(1, 0, 1, Buffer.from([0x82])), frameOf(9, END_HEADERS, 3, nothing)],
  ],
  ['continues nothing', ErrorCode.PROTOCOL_ERROR, () => [hello, frameOf(9, END_HEADERS, 1, nothing)]],
  [
    'never ends a header block',
    ErrorCode.ENHANCE_YOUR_CALM,
    () => [hello, frameOf(1, 0, 1, nothing), ...Array.from({ length: 20 }, () => frameOf(9, 0, 1, nothing))],
  ],
  [
    'sends a header block of a size without measure',
    ErrorCode.ENHANCE_YOUR_CALM,
    () => [
      hello,
      frameOf(1, 0, 1, nothing),
      ...Array.from({ length: 6 }, () => frameOf(9, 0, 1, Buffer.alloc(16_384))),
    ],
  ],
  [
    'sends headers that cannot be read',
    ErrorCode.COMPRESSION_ERROR,
    () => [hello, frameOf(1, 4, 1, Buffer.from([0xff]))],
  ],
  [
    'pads beyond the frame',
    ErrorCode.PROTOCOL_ERROR,
    (peer) => [hello, peer.headers(1, 0), frameOf(0, PADDED, 1, Buffer.from([9]))],
  ],
  [
    'cuts a priority short',
    ErrorCode.PROTOCOL_ERROR,
    () => [hello, frameOf(1, PRIORITY | END_HEADERS, 1, Buffer.alloc(3))],
  ],
  [
    'resets with the wrong size',
    ErrorCode.FRAME_SIZE_ERROR,
    (peer) => [hello, peer.headers(1, 0), frameOf(3, 0, 1, nothing)],
  ],
  ['resets what it has not opened', ErrorCode.PROTOCOL_ERROR, () => [hello, numberFrame(3, 5, 8)]],
  [
    'says goodbye in too few bytes',
    ErrorCode.FRAME_SIZE_ERROR,
    () => [hello, frameOf(7, 0, 0, Buffer.alloc(4))],
  ],
  [
    'opens calls and gives them up, again and again',
    ErrorCode.ENHANCE_YOUR_CALM,
    (peer) => [
      hello,
      ...Array.from({ length: 1200 }, (_, at) =>
        Buffer.concat([peer.headers(2 * at + 1, 0), numberFrame(3, 2 * at + 1, 8)]),
      ),
    ],
  ],
  [
    'changes its settings without end',
    ErrorCode.ENHANCE_YOUR_CALM,
    () => [hello, ...Array.from({ length: 1200 }, () => settingsFrame([]))],
  ],
  [
    'sends empty frames without end',
    ErrorCode.ENHANCE_YOUR_CALM,
    (peer) => [hello, peer.headers(1, 0), ...Array.from({ length: 1200 }, () => frameOf(0, 0, 1, nothing))],
  ],
];

const priority = (stream: number, on: number) => {
  const payload = Buffer.alloc(5);
  payload.writeUInt32BE(on);
  return frameOf(FrameType.PRIORITY, 0, stream, payload);
};
const data = (text: string, flags = 0) => frameOf(FrameType.DATA, flags, 1, Buffer.from(text));
const and = (...fields: Fields): Fields => [...request, ...fields];
const without = (name: string): Fields => request.filter(([each]) => each !== name);

/** What is wrong with one stream: it is reset, and the connection goes on. */
const streamBreaks: [name: string, frames: Break, code?: number][] = [
  ['a pseudo-header twice', (peer) => [peer.headers(1, 0, [[':path', '/y'], ...request])]],
  ['a pseudo-header that nobody knows', (peer) => [peer.headers(1, 0, [[':test', 'y'], ...request])]],
  ['a pseudo-header of responses', (peer) => [peer.headers(1, 0, [[':status', '200'], ...request])]],
  ['a pseudo-header after other fields', (peer) => [peer.headers(1, 0, [['x', 'y'], ...request])]],
  ['no :method', (peer) => [peer.headers(1, 0, without(':method'))]],
  ['no :scheme', (peer) => [peer.headers(1, 0, without(':scheme'))]],
  ['no :path', (peer) => [peer.headers(1, 0, without(':path'))]],
  ['an empty :path', (peer) => [peer.headers(1, 0, [...without(':path'), [':path', '']])]],
  ['upper case in a name', (peer) => [peer.headers(1, 0, and(['X-Test', 'y']))]],
  ['a space in a name', (peer) => [peer.headers(1, 0, and(['x test', 'y']))]],
  ['a colon in a name', (peer) => [peer.headers(1, 0, and(['x:test', 'y']))]],
  ['an empty name', (peer) => [peer.headers(1, 0, and(['', 'y']))]],
  ['a line break in a value', (peer) => [peer.headers(1, 0, and(['x', 'y\r\nz: 1']))]],
  [
    'a malformed header that is only named by its number',
    (peer) => {
      const bad = peer.headers(3, END_STREAM, and(['X-Test', 'y']));
      // The static table has 61 entries; the newest of the dynamic one is the next.
      const block = Buffer.concat([requestBlock(), Buffer.from([0x80 | 62])]);
      return [bad, frameOf(FrameType.HEADERS, END_HEADERS, 5, block)];
    },
  ],
  ['a connection header', (peer) => [peer.headers(1, 0, and(['connection', 'keep-alive']))]],
  ['a transfer-encoding', (peer) => [peer.headers(1, 0, and(['transfer-encoding', 'chunked']))]],
  ['te other than trailers', (peer) => [peer.headers(1, 0, and(['te', 'trailers, deflate']))]],
  ['a content-length that is no number', (peer) => [peer.headers(1, 0, and(['content-length', '1x']))]],
  [
    'two content-lengths',
    (peer) => [peer.headers(1, 0, and(['content-length', '1'], ['content-length', '2']))],
  ],
  ['a content-length and no body', (peer) => [peer.headers(1, END_STREAM, and(['content-length', '1']))]],
  [
    'more body than its content-length',
    (peer) => [peer.headers(1, 0, and(['content-length', '3'])), data('four')],
  ],
  [
    'less body than its content-length',
    (peer) => [peer.headers(1, 0, and(['content-length', '9'])), data('four', END_STREAM)],
  ],
  [
    'less body than its content-length before its trailers',
    (peer) => [peer.headers(1, 0, and(['content-length', '9'])), peer.headers(1, END_STREAM, [['x', 'y']])],
  ],
  ['a pseudo-header in its trailers', (peer) => [peer.headers(1, 0), peer.headers(1, END_STREAM)]],
  ['trailers that do not end it', (peer) => [peer.headers(1, 0), peer.headers(1, 0, [['x', 'y']])]],
  ['a window update of 0', (peer) => [peer.headers(1, 0), numberFrame(8, 1, 0)]],
  [
    'a window opened too far',
    (peer) => [peer.headers(1, 0), numberFrame(8, 1, 2 ** 31 - 1)],
    ErrorCode.FLOW_CONTROL_ERROR,
  ],
  ['data after its end', (peer) => [peer.headers(1, END_STREAM), data('x')], ErrorCode.STREAM_CLOSED],
  [
    'headers after its end',
    (peer) => [peer.headers(1, END_STREAM), peer.headers(1, END_STREAM, [['x', 'y']])],
    ErrorCode.STREAM_CLOSED,
  ],
  [
    'data after it was reset',
    (peer) => [peer.headers(1, 0), numberFrame(FrameType.RST_STREAM, 1, ErrorCode.CANCEL), data('x')],
    ErrorCode.STREAM_CLOSED,
  ],
];

describe('a stream with', () => {
  for (const [name, frames, code = ErrorCode.PROTOCOL_ERROR] of streamBreaks) {
    it(`${name} is reset, and the connection goes on`, async (t) => {
      const { peer, streams } = await world(t);
      peer.send(
        hello,
        ...frames(peer),
        peer.headers(7, END_STREAM),
        frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)),
      );
      const reset = await peer.frame(isType(FrameType.RST_STREAM));
      assert.equal(reset.payload.readUInt32BE(), code);
      await peer.frame(isType(FrameType.PING));
      assert.equal(peer.frames.some(isType(FrameType.GOAWAY)), false);
      assert.deepEqual([streams.at(-1)?.stream.id, streams.at(-1)?.isEnded], [7, true]);
      for (const { isEnded, failure } of streams) assert.ok(isEnded || failure, 'a call was left hanging');
    });
  }

  it('a content-length that is right is taken', async (t) => {
    const { peer, streams } = await world(t);
    peer.send(hello, peer.headers(1, 0, and(['content-length', '4'])), data('fo'), data('ur', END_STREAM));
    peer.send(frameOf(FrameType.PING, 0, 0, Buffer.alloc(8)));
    await peer.frame(isType(FrameType.PING));
    assert.deepEqual([streams[0]?.bytes, streams[0]?.isEnded], [4, true]);
  });
});

describe('a peer that breaks the rules', () => {
  for (const [name, code, frames] of breaks) {
    it(`and ${name} gets a GOAWAY with the reason, and is disconnected`, async (t) => {
      const { peer, closed, streams } = await world(t);
      peer.send(...frames(peer));
      assert.equal(goaway(await peer.frame(isType(FrameType.GOAWAY))).code, code);
      assert.ok((await closed) instanceof Error);
      for (const { isEnded, failure } of streams) assert.ok(isEnded || failure, 'a call was left hanging');
    });
  }

  it('and exceeds the flow-control window is disconnected', async (t) => {
    const { peer } = await world(t, { isGenerous: false });
    peer.send(hello, peer.headers(1, 0));
    for (let at = 0; at < 66; at++) peer.send(frameOf(FrameType.DATA, 0, 1, Buffer.alloc(16_384)));
    assert.equal(goaway(await peer.frame(isType(FrameType.GOAWAY))).code, ErrorCode.FLOW_CONTROL_ERROR);
  });

  it('and never reads its responses is disconnected', async (t) => {
    const { peer, closed } = await world(t);
    peer.socket.pause();
    const pings = Buffer.concat(
      Array.from({ length: 1000 }, () => frameOf(FrameType.PING, 0, 0, Buffer.alloc(8))),
    );
    peer.send(hello);
    let isClosed = false;
    void closed.then(() => {
      isClosed = true;
    });
    while (!isClosed) {
      if (peer.socket.writable) peer.socket.write(pings);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.match(String((await closed)?.message), /too many frames that ask for an answer/);
  });

  it('and has more calls open than allowed gets only those that are', async (t) => {
    const { peer, streams } = await world(t);
    const count = MAX_STREAMS + 10;
    peer.send(hello, ...Array.from({ length: count }, (_, at) => peer.headers(2 * at + 1, 0)));
    const last = await peer.frame(isType(FrameType.RST_STREAM, 2 * count - 1));
    assert.equal(last.payload.readUInt32BE(), ErrorCode.REFUSED_STREAM);
    assert.equal(streams.length, MAX_STREAMS);
  });

  it('and sends more headers than allowed is served without them', async (t) => {
    const { peer, streams } = await world(t);
    // One entry of the table, named again and again: a few bytes that mean many.
    const block = Buffer.concat([
      new HeaderEncoder().encode([{ name: 'x', value: 'y'.repeat(1000) }]),
      Buffer.alloc(1000, 0xbe),
    ]);
    peer.send(hello, frameOf(FrameType.HEADERS, END_HEADERS, 1, block), frameOf(6, 0, 0, Buffer.alloc(8)));
    await peer.frame(isType(FrameType.PING));
    assert.equal(streams[0]?.isTooLong, true);
    assert.ok((streams[0]?.fields[0]?.length ?? 0) < 200);
  });

  it('and sends arbitrary bytes is at worst disconnected', async (t) => {
    const frame = fc.record({
      type: fc.nat({ max: 10 }),
      flags: fc.nat({ max: 255 }),
      stream: fc.constantFrom(0, 1, 1, 1, 2, 3, 5, 2 ** 31 - 1),
      payload: fc.oneof(
        fc.uint8Array({ maxLength: 30 }),
        fc.constantFrom(
          Buffer.from([0x83, 0x86, 0x84]),
          Buffer.alloc(4, 1),
          Buffer.alloc(8),
          Buffer.alloc(6),
        ),
      ),
    });
    const samples = fc.sample(fc.array(frame, { minLength: 1, maxLength: 30 }), { numRuns: 150, seed: 11 });
    for (const frames of samples) {
      const { peer, connection, closed, streams } = await world(t);
      peer.send(hello, ...frames.map((each) => frameOf(each.type, each.flags, each.stream, each.payload)));
      peer.socket.end();
      await closed;
      connection.destroy();
      for (const { isEnded, failure } of streams) assert.ok(isEnded || failure, 'a call was left hanging');
    }
  });
});

describe('our end as a client', () => {
  async function client(t: TestContext) {
    const path = await temporarySocket(t);
    const accepted = Promise.withResolvers<Socket>();
    const server = createServer((socket) => accepted.resolve(socket));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    let isLeaving = false;
    const closed = Promise.withResolvers<Error | undefined>();
    const connection = new Http2Connection({
      socket: connect(path),
      clock: testClock,
      onLeaving() {
        isLeaving = true;
      },
      onClosed: closed.resolve,
    });
    const socket = await accepted.promise;
    t.after(() => {
      socket.destroy();
      connection.destroy();
      server.close();
    });
    // What a client says first is no frame.
    const [first] = (await once(socket, 'data')) as [Buffer];
    assert.ok(first.subarray(0, PREFACE.length).equals(PREFACE));
    const peer = rawPeer(socket);
    peer.send(settingsFrame([]));
    const failures: (StreamFailure & { stream: number })[] = [];
    const told = Promise.withResolvers<void>();
    const open = () => {
      const stream = connection.open({
        headers() {},
        data() {},
        aborted(why) {
          failures.push({ ...why, stream: stream.id });
          told.resolve();
        },
      });
      return stream;
    };
    return {
      peer,
      connection,
      closed: closed.promise,
      open,
      failures,
      told: told.promise,
      left: () => isLeaving,
    };
  }

  it('knows which streams a GOAWAY did not process', async (t) => {
    const { peer, open, failures, told, left, connection } = await client(t);
    const streams = [open(), open(), open()];
    for (const stream of streams) connection.sendHeaders(stream, { known: [], isEnd: true });
    await peer.frame(isType(FrameType.HEADERS, 5));
    peer.send(goawayFrame(3, ErrorCode.NO_ERROR, ''));
    await told;
    assert.deepEqual(
      failures.map(({ stream, kind }) => [stream, kind]),
      [[5, 'refused']],
    );
    assert.ok(left());
    peer.send(
      frameOf(FrameType.HEADERS, END_HEADERS | END_STREAM, 1, Buffer.from([0x88])),
      numberFrame(FrameType.RST_STREAM, 3, ErrorCode.REFUSED_STREAM),
    );
    await once(peer.socket, 'close');
    assert.deepEqual(failures.at(-1)?.kind, 'refused');
  });

  it('loses all calls with the connection, and says why', async (t) => {
    const { peer, open, failures, told, closed } = await client(t);
    open();
    peer.send(goawayFrame(1, ErrorCode.ENHANCE_YOUR_CALM, 'too fast'));
    peer.socket.end();
    await told;
    assert.equal(failures[0]?.kind, 'lost');
    assert.match(String((await closed)?.message), /GOAWAY.*11: too fast/);
  });

  it('resets a call whose answer is malformed, and keeps the connection', async (t) => {
    const answers: Fields[] = [
      [['x', 'y']],
      [[':path', '/']],
      [
        [':status', '200'],
        ['connection', 'close'],
      ],
    ];
    const { peer, open, failures, told, connection, left } = await client(t);
    const streams = answers.map(() => open());
    for (const stream of streams) connection.sendHeaders(stream, { known: [], isEnd: true });
    await peer.frame(isType(FrameType.HEADERS, 5));
    peer.send(...answers.map((fields, at) => peer.headers(2 * at + 1, 0, fields)));
    await told;
    await peer.frame(isType(FrameType.RST_STREAM, 5));
    assert.deepEqual(
      failures.map(({ stream, kind, code }) => [stream, kind, code]),
      [1, 3, 5].map((stream) => [stream, 'reset', ErrorCode.PROTOCOL_ERROR]),
    );
    assert.equal(left(), false);
  });

  it('waits for the answer after an interim one', async (t) => {
    const { peer, connection } = await client(t);
    const heard: string[][] = [];
    const ended = Promise.withResolvers<void>();
    const stream = connection.open({
      headers(fields, { isEnd }) {
        heard.push([...fields]);
        if (isEnd) ended.resolve();
      },
      data() {},
      aborted: ({ text }) => ended.reject(new Error(text)),
    });
    connection.sendHeaders(stream, { known: [], isEnd: true });
    await peer.frame(isType(FrameType.HEADERS, 1));
    peer.send(
      peer.headers(1, 0, [[':status', '103']]),
      peer.headers(1, 0, [[':status', '200']]),
      peer.headers(1, END_STREAM, [['grpc-status', '0']]),
    );
    await ended.promise;
    assert.deepEqual(heard, [
      [':status', '200'],
      ['grpc-status', '0'],
    ]);
  });

  const bad: [name: string, frame: Buffer][] = [
    ['data before headers', frameOf(FrameType.DATA, 0, 1, Buffer.alloc(1))],
    ['headers for a call that was not made', frameOf(FrameType.HEADERS, END_HEADERS, 7, Buffer.from([0x88]))],
    ['a stream of its own', frameOf(FrameType.HEADERS, END_HEADERS, 2, Buffer.from([0x88]))],
  ];
  for (const [name, frame] of bad) {
    it(`ends a connection on which a server sends ${name}`, async (t) => {
      const { peer, open, told, failures } = await client(t);
      open();
      peer.send(frame);
      await told;
      assert.equal(failures[0]?.kind, 'lost');
      assert.equal(goaway(await peer.frame(isType(FrameType.GOAWAY))).code, ErrorCode.PROTOCOL_ERROR);
    });
  }
});
