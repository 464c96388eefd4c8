import assert from 'node:assert/strict';
import type { CallStatus } from '../../src/wire/grpc/call-headers.ts';
import { ClientCall } from '../../src/wire/grpc/client-call.ts';
import { MESSAGE_HEADROOM, prefixMessage } from '../../src/wire/grpc/message-framing.ts';
import { ServerCall } from '../../src/wire/grpc/server-call.ts';
import {
  Flag,
  FrameType,
  frameOf,
  goawayFrame,
  numberFrame,
  PREFACE,
  settingsFrame,
} from '../../src/wire/http2/frame.ts';
import { frameReader } from '../../src/wire/http2/frame-reader.ts';
import { HeaderEncoder } from '../../src/wire/http2/header-encoder.ts';
import { Http2Connection } from '../../src/wire/http2/http2-connection.ts';
import { prefixed } from '../../src/wire/testing/prefixed.ts';
import { MemorySocket } from './memory-socket.ts';
import type { Draw, FuzzTarget } from './target.ts';

export const frames: FuzzTarget = {
  summary:
    'any frames, to a server or a client, end every call exactly once, throw nothing, and are answered with bounded bytes',
  seedsInTests: 800,
  try: (draw) => (draw.chance(0.5) ? toServer(draw) : toClient(draw)),
};

const clock = {
  now: () => 0,
  monotonicMs: () => 0,
  setTimeout: () => ({ cancel() {} }),
  setImmediate: () => ({ cancel() {} }),
};
/** Lets what is queued go out. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function toServer(draw: Draw): Promise<void> {
  const socket = new MemorySocket();
  let open = 0;
  const connection: Http2Connection = new Http2Connection({
    socket: socket.asSocket(),
    clock,
    accept(stream) {
      open++;
      const call: ServerCall = new ServerCall({
        connection,
        stream,
        clock,
        peer: 'fuzz',
        maxMessageBytes: 1000,
        hold: () => true,
        onRequest: (_, request) =>
          call.answer({ code: 0 }, Buffer.concat([Buffer.alloc(MESSAGE_HEADROOM), request])),
      });
      let isOver = false;
      const end = () => {
        assert.ok(!isOver, 'a stream ended twice');
        isOver = true;
        open--;
      };
      // A call that is answered before the end of its request resets its stream, and is told nothing more.
      const endIfReset = () => {
        if (stream.isRemoteEnded && !isOver) end();
      };
      return {
        headers(fields, state) {
          assert.ok(!isOver, 'headers after the end');
          if (state.isEnd) end();
          call.headers(fields, state);
          endIfReset();
        },
        data(bytes, isEnd) {
          assert.ok(!isOver, 'data after the end');
          if (isEnd) end();
          call.data(bytes, isEnd);
          endIfReset();
        },
        aborted(why) {
          if (!isOver) end();
          call.aborted(why);
        },
      };
    },
    onLeaving() {},
    onClosed() {},
  });
  const start = Buffer.concat([PREFACE, settingsFrame([])]);
  const bytes = draw.mutated(Buffer.concat([start, ...anyFrames(draw, requestFields)]), 2);
  for (const piece of draw.pieces(bytes)) socket.receive(piece);
  await turn();
  bounded(socket, bytes.length);
  await alive(socket, bytes);
  socket.destroy();
  await turn();
  assert.equal(open, 0, 'a stream was left open');
}

async function toClient(draw: Draw): Promise<void> {
  const socket = new MemorySocket();
  const connection = new Http2Connection({ socket: socket.asSocket(), clock, onLeaving() {}, onClosed() {} });
  const ends: CallStatus[][] = [];
  for (let count = 3; count > 0; count--) {
    const framed = Buffer.alloc(MESSAGE_HEADROOM + 10);
    prefixMessage(framed);
    const ended: CallStatus[] = [];
    ends.push(ended);
    new ClientCall({
      clock,
      path: { name: ':path', value: '/test.Echo/Echo' },
      framed,
      timeoutMs: 1000,
      maxMessageBytes: 1000,
      onMessage: () => assert.equal(ended.length, 0, 'a message after the end'),
      onEnd: (status) => ended.push(status),
    }).send(connection);
  }
  const bytes = draw.mutated(Buffer.concat([settingsFrame([]), ...anyFrames(draw, answerFields)]), 2);
  for (const piece of draw.pieces(bytes)) socket.receive(piece);
  await turn();
  bounded(socket, bytes.length);
  socket.destroy();
  await turn();
  for (const ended of ends) assert.equal(ended.length, 1, 'a call ended other than once');
}

function bounded(socket: MemorySocket, received: number): void {
  const sent = socket.sent.reduce((sum, { length }) => sum + length, 0);
  assert.ok(sent <= 4096 + 30 * received, `${sent} bytes for ${received}`);
}

/** A connection that was not cut off, and is not in the middle of a frame or a header block, answers a ping. */
async function alive(socket: MemorySocket, received: Buffer): Promise<void> {
  let isBetween = false;
  let isLost = false;
  const reader = frameReader(({ type, flags }) => {
    isBetween =
      (type !== FrameType.HEADERS && type !== FrameType.CONTINUATION) || (flags & Flag.END_HEADERS) !== 0;
  });
  try {
    reader.push(received.subarray(PREFACE.length));
  } catch {
    isLost = true;
  }
  if (!socket.writable || isLost || !isBetween || reader.heldBytes > 0) return;
  socket.sent.length = 0;
  socket.receive(frameOf(FrameType.PING, 0, 0, Buffer.from('are you?')));
  await turn();
  assert.ok(Buffer.concat(socket.sent).includes('are you?'), 'no answer to a ping');
}

type Fields = (draw: Draw) => [string, string][];

const requestFields: Fields = (draw) => [
  [':method', draw.of(['POST', 'POST', 'POST', 'GET'])],
  [':scheme', 'http'],
  [':path', '/test.Echo/Echo'],
  ['content-type', draw.of(['application/grpc', 'application/grpc', 'text/plain'])],
  ...oddFields(draw),
];
const answerFields: Fields = (draw) => [
  ...draw.of<[string, string][]>([[], [[':status', draw.of(['200', '200', '100', '404'])]]]),
  ['content-type', draw.of(['application/grpc', 'text/plain'])],
  ...draw.of<[string, string][]>([[], [['grpc-status', draw.of(['0', '5', 'x'])]]]),
  ...oddFields(draw),
];
const oddFields: Fields = (draw) =>
  draw.chance(0.8)
    ? []
    : [
        [
          draw.of(['te', 'connection', 'content-length', 'X', ':path', 'grpc-timeout']),
          draw.of(['trailers', '5', '1S']),
        ],
      ];

function anyFrames(draw: Draw, fields: Fields): Buffer[] {
  const encoder = new HeaderEncoder();
  let next = 1;
  const stream = (): number =>
    draw.of([0, 1, 3, 5, Math.max(1, next - 2), Math.max(1, next - 2), draw.int(2 ** 31)]);
  const flags = (): number => draw.of([0, 0, Flag.END_STREAM, draw.int(256)]);
  const makers: (() => Buffer)[] = [
    () => {
      const id = draw.chance(0.8) ? next : stream();
      if (id === next) next += 2;
      const block = encoder.encode(
        [],
        fields(draw).map(([name, value]) => ({ name, value })),
      );
      return frameOf(FrameType.HEADERS, flags() | Flag.END_HEADERS, id, block);
    },
    () => frameOf(FrameType.DATA, flags(), stream(), draw.of([prefixed(draw.bytes(50)), draw.bytes(20)])),
    () => numberFrame(FrameType.RST_STREAM, stream(), draw.int(14)),
    () => settingsFrame(draw.list(3, () => [draw.int(8), draw.of([0, 1, 100, 65_535, 2 ** 31])])),
    () => frameOf(FrameType.PING, draw.of([0, Flag.ACK]), 0, Buffer.alloc(8)),
    () => numberFrame(FrameType.WINDOW_UPDATE, stream(), draw.of([0, 1, 1000, 2 ** 31 - 1])),
    () => goawayFrame(draw.int(10), draw.int(14), draw.text()),
    () => frameOf(draw.int(12), draw.int(256), stream(), draw.bytes(10)),
  ];
  return draw.list(20, () => draw.of([...makers.slice(0, 2), ...makers])());
}
