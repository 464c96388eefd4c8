// One HTTP/2 connection (RFC 9113) over a socket, either end of it: what gRPC needs, and no more. Keeps the peer within
// limits, keeps to the peer's, and ends when the peer breaks the rules. No push, no priorities.

import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { TokenBucket } from '../token-bucket.ts';
import {
  ConnectionError,
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  type Frame,
  FrameReader,
  FrameType,
  frameOf,
  goawayFrame,
  MAX_FRAME_BYTES,
  MAX_WINDOW,
  numberFrame,
  PREFACE,
  Setting,
  settingsFrame,
} from './frame.ts';
import { FrameSender } from './frame-sender.ts';
import { HeaderBlocks, MAX_HEADER_LIST_BYTES } from './header-blocks.ts';
import { type Headers, Http2Stream, type StreamEvents, type StreamFailure } from './http2-stream.ts';

export interface Http2Options {
  socket: Socket;
  clock: Clock;
  /** A server's: who is told of a new stream. */
  accept?: (stream: Http2Stream) => StreamEvents;
  /** The other side has said hello. Called once. */
  onReady?(): void;
  /** No more streams can be opened: one of the two is going away, or the connection is lost. Called once. */
  onLeaving(): void;
  /** Called once, with the reason unless it ended in order. */
  onClosed(why: Error | undefined): void;
}

/** Of streams that a client may have open. Sidecars have a hundred workers or so. */
export const MAX_STREAMS = 1024;
/** Room for most messages to be sent without asking; larger ones ask for more on their way. */
const STREAM_WINDOW = 1 << 20;
const CONNECTION_WINDOW = 4 << 20;
/** A peer that has left so much unread gets nothing new to read. */
const MAX_UNREAD_BYTES = 64 << 20;
const MAX_STREAM_ID = 2 ** 31 - 1;

export class Http2Connection {
  readonly #options: Http2Options;
  readonly #socket: Socket;
  readonly #isServer: boolean;
  readonly #streams = new Map<number, Http2Stream>();
  readonly #blocks = new HeaderBlocks();
  readonly #sender: FrameSender;
  readonly #nuisance: TokenBucket;
  readonly #reader = new FrameReader((frame) => this.#receive(frame));
  /** PRIORITY, and types that are not known, mean nothing here. */
  readonly #receivers: Readonly<Record<number, (frame: Frame) => void>> = {
    [FrameType.DATA]: (frame) => this.#receiveData(frame),
    [FrameType.HEADERS]: (frame) => this.#receiveHeaders(frame),
    [FrameType.CONTINUATION]: (frame) => this.#receiveHeaders(frame),
    [FrameType.RST_STREAM]: (frame) => this.#receiveReset(frame),
    [FrameType.SETTINGS]: (frame) => this.#receiveSettings(frame),
    [FrameType.PING]: (frame) => this.#receivePing(frame),
    [FrameType.GOAWAY]: (frame) => this.#receiveGoaway(frame),
    [FrameType.WINDOW_UPDATE]: (frame) => this.#receiveWindowUpdate(frame),
    [FrameType.PUSH_PROMISE]: () => {
      throw broken('a push that nobody asked for');
    },
  };
  /** As much of it as has come; undefined once it is whole. */
  #preface: Buffer | undefined;
  #hasPeerSettings = false;
  #lastOwnStream = -1;
  #lastPeerStream = 0;
  #isLeaving = false;
  #isOver = false;
  #error: Error | undefined;
  #receiveWindow = CONNECTION_WINDOW;
  #peerMaxStreams = Number.POSITIVE_INFINITY;
  #waitingForRoom: (() => void)[] = [];

  constructor(options: Http2Options) {
    this.#options = options;
    this.#socket = options.socket;
    this.#isServer = options.accept !== undefined;
    this.#sender = new FrameSender(this.#socket, (stream) => {
      if (stream.isRemoteEnded) this.#forget(stream);
    });
    // As much as other servers bear: who gives up calls one by one, or changes its mind, needs no more.
    this.#nuisance = new TokenBucket({ clock: options.clock, burst: 1000, perSecond: 33 });
    if (this.#isServer) this.#preface = Buffer.alloc(0);
    else this.#sender.send(PREFACE);
    this.#sender.send(
      settingsFrame([
        [Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW],
        [Setting.MAX_HEADER_LIST_SIZE, MAX_HEADER_LIST_BYTES],
        this.#isServer ? [Setting.MAX_CONCURRENT_STREAMS, MAX_STREAMS] : [Setting.ENABLE_PUSH, 0],
      ]),
    );
    this.#sender.send(numberFrame(FrameType.WINDOW_UPDATE, 0, CONNECTION_WINDOW - DEFAULT_WINDOW));
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', (error) => {
      this.#error ??= error;
    });
    this.#socket.on('close', () => this.#closed());
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Whether the server takes another stream now. */
  get hasRoom(): boolean {
    return this.#streams.size < this.#peerMaxStreams;
  }

  /** Calls back, once, when that may have changed. */
  whenRoom(callback: () => void): void {
    this.#waitingForRoom.push(callback);
  }

  /** A client's new stream. */
  open(events: StreamEvents): Http2Stream {
    this.#lastOwnStream += 2;
    const stream = this.#newStream(this.#lastOwnStream);
    stream.events = events;
    // The last number that there is: others find their way over a new connection.
    if (this.#lastOwnStream === MAX_STREAM_ID) this.leave();
    return stream;
  }

  sendHeaders(stream: Http2Stream, headers: Headers): void {
    this.#sender.sendHeaders(stream, headers);
  }

  /** See FrameSender. */
  sendData(stream: Http2Stream, framed: Buffer, isEnd: boolean, sent?: () => void): void {
    this.#sender.sendData(stream, framed, isEnd, sent);
  }

  /** The owner has dealt with so many bytes: the peer may send as many more. */
  grant(stream: Http2Stream, bytes: number): void {
    stream.receiveWindow += bytes;
    stream.ungranted += bytes;
    if (stream.isRemoteEnded || stream.ungranted < STREAM_WINDOW / 2) return;
    this.#sender.send(numberFrame(FrameType.WINDOW_UPDATE, stream.id, stream.ungranted));
    stream.ungranted = 0;
  }

  /** Gives a stream up. Nothing more is told of it. */
  reset(stream: Http2Stream, code: number): void {
    if (!this.#forget(stream)) return;
    this.#sender.send(numberFrame(FrameType.RST_STREAM, stream.id, code));
  }

  /** No more streams; ends when the last one has. Idempotent. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#sender.send(goawayFrame(this.#lastPeerStream, ErrorCode.NO_ERROR, ''));
    this.#left();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      const frames = this.#preface === undefined ? chunk : this.#readPreface(this.#preface, chunk);
      if (frames.length > 0) this.#reader.push(frames);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.#error ??= error;
      this.#isOver = true;
      this.#sender.send(goawayFrame(this.#lastPeerStream, error.code, error.message));
      this.#sender.flush();
      // One that does not read will not read this either.
      if (this.#socket.writableNeedDrain) this.#socket.destroy();
      else this.#socket.destroySoon();
    }
  }

  #readPreface(before: Buffer, chunk: Buffer): Buffer {
    const seen = Buffer.concat([before, chunk]);
    const length = Math.min(seen.length, PREFACE.length);
    if (!seen.subarray(0, length).equals(PREFACE.subarray(0, length))) throw broken('this is not HTTP/2');
    this.#preface = length < PREFACE.length ? seen : undefined;
    return seen.subarray(PREFACE.length);
  }

  #receive(frame: Frame): void {
    if (this.#blocks.isOpen && frame.type !== FrameType.CONTINUATION) {
      throw broken('something between the parts of a header block');
    }
    if (!this.#hasPeerSettings && (frame.type !== FrameType.SETTINGS || frame.flags & Flag.ACK)) {
      throw broken('the first frame is not SETTINGS');
    }
    this.#receivers[frame.type]?.(frame);
  }

  #receiveData(frame: Frame): void {
    const bytes = frame.payload.length;
    this.#receiveWindow -= bytes;
    if (this.#receiveWindow < 0) throw overrun();
    // The connection's window only bounds what is under way: each stream is held to its own.
    if (this.#receiveWindow < CONNECTION_WINDOW / 2) {
      this.#sender.send(numberFrame(FrameType.WINDOW_UPDATE, 0, CONNECTION_WINDOW - this.#receiveWindow));
      this.#receiveWindow = CONNECTION_WINDOW;
    }
    const data = withoutPadding(frame);
    const stream = this.#openStream(frame);
    if (stream === undefined) return;
    stream.receiveWindow -= bytes;
    if (stream.receiveWindow < 0) throw overrun();
    if (stream.isRemoteEnded || !stream.hasHeaders) throw broken('data before or after their time');
    const isEnd = (frame.flags & Flag.END_STREAM) !== 0;
    if (data.length === 0 && !isEnd) this.#bear('empty frames');
    // Nobody else will grant the padding.
    if (bytes > data.length) this.grant(stream, bytes - data.length);
    if (isEnd) this.#endRemote(stream);
    stream.events.data(data, isEnd);
  }

  #receiveHeaders(frame: Frame): void {
    const headers = this.#blocks.receive(frame, withoutPadding(frame));
    if (headers === undefined) return;
    const { stream: id, fields, isEnd, isTooLong } = headers;
    const stream = this.#streams.get(id) ?? (this.#isServer ? this.#accept(id) : this.#ended(id));
    if (stream === undefined) return;
    // A second block ends what it follows, except that a server may first say something preliminary.
    if (stream.isRemoteEnded || (this.#isServer && stream.hasHeaders && !isEnd)) {
      throw broken('headers before or after their time');
    }
    stream.hasHeaders = true;
    if (isEnd) this.#endRemote(stream);
    stream.events.headers(fields, { isEnd, isTooLong });
  }

  /** A client's new stream; undefined for one that is refused, or over already. */
  #accept(id: number): Http2Stream | undefined {
    if (id % 2 === 0) throw broken('a stream of a client has an even number');
    if (id <= this.#lastPeerStream) return undefined;
    this.#lastPeerStream = id;
    const isFull = this.#streams.size >= MAX_STREAMS || this.#socket.writableLength > MAX_UNREAD_BYTES;
    if (isFull || this.#isLeaving) {
      this.#bear('streams beyond the limit');
      this.#sender.answer(numberFrame(FrameType.RST_STREAM, id, ErrorCode.REFUSED_STREAM));
      return undefined;
    }
    const stream = this.#newStream(id);
    stream.events = (this.#options.accept as NonNullable<Http2Options['accept']>)(stream);
    return stream;
  }

  #receiveReset(frame: Frame): void {
    expect(frame, { bytes: 4 });
    const stream = this.#openStream(frame);
    if (this.#isServer) this.#bear('calls given up');
    if (stream === undefined) return;
    this.#forget(stream);
    const code = frame.payload.readUInt32BE();
    const kind = code === ErrorCode.REFUSED_STREAM ? 'refused' : 'reset';
    stream.events.aborted({ kind, code, text: `the other side ended the call, with HTTP/2 error ${code}` });
  }

  #receiveSettings(frame: Frame): void {
    const isAck = (frame.flags & Flag.ACK) !== 0;
    const { length } = frame.payload;
    expect(frame, { bytes: isAck ? 0 : length - (length % 6), stream: 0 });
    if (isAck) return;
    const isFirst = !this.#hasPeerSettings;
    this.#hasPeerSettings = true;
    if (!isFirst) this.#bear('settings');
    for (let at = 0; at < length; at += 6) {
      this.#apply(frame.payload.readUInt16BE(at), frame.payload.readUInt32BE(at + 2));
    }
    this.#sender.answer(frameOf(FrameType.SETTINGS, Flag.ACK, 0, Buffer.alloc(0)));
    this.#sendUnsent();
    this.#tellOfRoom();
    if (isFirst) this.#options.onReady?.();
  }

  #apply(setting: number, value: number): void {
    if (setting === Setting.HEADER_TABLE_SIZE) this.#sender.limitHeaderTable(value);
    else if (setting === Setting.MAX_CONCURRENT_STREAMS) this.#peerMaxStreams = value;
    else if (setting === Setting.MAX_FRAME_SIZE) {
      if (value < MAX_FRAME_BYTES || value >= 2 ** 24) throw broken('an impossible frame size');
      this.#sender.limitFrames(value);
    } else if (setting === Setting.INITIAL_WINDOW_SIZE) {
      if (value > MAX_WINDOW) throw overrun();
      const change = value - this.#sender.streamWindow;
      this.#sender.streamWindow = value;
      for (const stream of this.#streams.values()) widen(stream, change);
    }
  }

  #receivePing(frame: Frame): void {
    expect(frame, { bytes: 8, stream: 0 });
    if (frame.flags & Flag.ACK) return;
    this.#sender.answer(frameOf(FrameType.PING, Flag.ACK, 0, frame.payload));
  }

  #receiveWindowUpdate(frame: Frame): void {
    expect(frame, { bytes: 4 });
    const bytes = frame.payload.readUInt32BE() & 0x7fff_ffff;
    if (bytes === 0) throw broken('a window update of nothing');
    if (frame.stream === 0) {
      this.#sender.widen(bytes);
      this.#sendUnsent();
      return;
    }
    const stream = this.#openStream(frame);
    if (stream === undefined) return;
    widen(stream, bytes);
    this.#sender.sendUnsent(stream);
  }

  #sendUnsent(): void {
    for (const stream of this.#streams.values()) {
      if (stream.unsent.length > 0) this.#sender.sendUnsent(stream);
    }
  }

  #receiveGoaway(frame: Frame): void {
    expect(frame, { bytes: Math.max(8, frame.payload.length), stream: 0 });
    const last = frame.payload.readUInt32BE(0) & 0x7fff_ffff;
    const code = frame.payload.readUInt32BE(4);
    const said = frame.payload.subarray(8, 200).toString();
    const text = `the other side is going away${code === 0 ? '' : `, with HTTP/2 error ${code}${said && `: ${said}`}`}`;
    if (code !== ErrorCode.NO_ERROR) this.#error ??= new Error(text);
    this.#left();
    if (this.#isServer) return;
    for (const stream of [...this.#streams.values()]) {
      if (stream.id <= last || !this.#forget(stream)) continue;
      stream.events.aborted({ kind: 'refused', code, text });
    }
  }

  #newStream(id: number): Http2Stream {
    const stream = new Http2Stream(id, { send: this.#sender.streamWindow, receive: STREAM_WINDOW });
    this.#streams.set(id, stream);
    return stream;
  }

  #openStream({ stream: id }: Frame): Http2Stream | undefined {
    return this.#streams.get(id) ?? this.#ended(id);
  }

  /** What comes for a stream that ended here while it was on its way is ignored; what was never a stream is not. */
  #ended(id: number): undefined {
    const last = this.#isServer ? this.#lastPeerStream : this.#lastOwnStream;
    if (id === 0 || id > last || id % 2 === 0) throw broken(`a frame for stream ${id}, which there is not`);
  }

  #endRemote(stream: Http2Stream): void {
    stream.isRemoteEnded = true;
    if (stream.isLocalEnded) this.#forget(stream);
  }

  #bear(what: string): void {
    if (!this.#nuisance.take()) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, `too many ${what}`);
  }

  #forget(stream: Http2Stream): boolean {
    if (!this.#streams.delete(stream.id)) return false;
    stream.isLocalEnded = true;
    stream.isRemoteEnded = true;
    stream.unsent.length = 0;
    this.#tellOfRoom();
    this.#endIfIdle();
    return true;
  }

  #tellOfRoom(): void {
    if (this.#waitingForRoom.length === 0) return;
    const waiting = this.#waitingForRoom;
    this.#waitingForRoom = [];
    for (const callback of waiting) callback();
  }

  #left(): void {
    if (!this.#isLeaving) {
      this.#isLeaving = true;
      this.#options.onLeaving();
      this.#tellOfRoom();
    }
    this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (!this.#isLeaving || this.#streams.size > 0) return;
    // After what this turn has still to say.
    process.nextTick(() => {
      if (this.#streams.size > 0) return;
      this.#sender.flush();
      this.#socket.destroySoon();
    });
  }

  #closed(): void {
    this.#isOver = true;
    this.#left();
    const text = this.#error?.message ?? 'the connection was closed';
    const failure: StreamFailure = { kind: 'lost', code: ErrorCode.NO_ERROR, text };
    for (const stream of [...this.#streams.values()]) {
      if (this.#forget(stream)) stream.events.aborted(failure);
    }
    this.#options.onClosed(this.#error);
  }
}

function widen(stream: Http2Stream, bytes: number): void {
  stream.sendWindow += bytes;
  if (stream.sendWindow > MAX_WINDOW) throw overrun();
}

function withoutPadding({ type, flags, payload }: Frame): Buffer {
  let start = 0;
  let end = payload.length;
  if (type !== FrameType.CONTINUATION && flags & Flag.PADDED) {
    start = 1;
    end -= payload[0] ?? 0;
  }
  // Five bytes of advice that is not taken.
  if (type === FrameType.HEADERS && flags & Flag.PRIORITY) start += 5;
  if (start > end) throw broken('more padding than frame');
  return start === 0 && end === payload.length ? payload : payload.subarray(start, end);
}

function expect({ type, stream, payload }: Frame, wanted: { bytes: number; stream?: 0 }): void {
  if (payload.length !== wanted.bytes) {
    const text = `a frame of type ${type} has ${payload.length} bytes`;
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, text);
  }
  if (wanted.stream === 0 && stream !== 0) throw broken(`a frame of type ${type} for a stream`);
}

function broken(text: string): ConnectionError {
  return new ConnectionError(ErrorCode.PROTOCOL_ERROR, text);
}

function overrun(): ConnectionError {
  return new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'more than there is room for');
}
