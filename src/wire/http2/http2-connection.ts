// One HTTP/2 connection (RFC 9113) over a socket, either end of it, as far as gRPC needs it: no push, no priorities. Owns
// the socket and the life of the connection: preface, leaving, errors, end. Frames are received by frame-receiver.ts and
// sent by frame-sender.ts.

import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { TokenBucket } from '../token-bucket.ts';
import {
  DEFAULT_WINDOW,
  FrameType,
  goawayFrame,
  numberFrame,
  PREFACE,
  Setting,
  settingsFrame,
} from './frame.ts';
import { frameReader } from './frame-reader.ts';
import { CONNECTION_WINDOW, FrameReceiver, STREAM_WINDOW } from './frame-receiver.ts';
import { FrameSender } from './frame-sender.ts';
import { MAX_HEADER_LIST_BYTES } from './header-blocks.ts';
import { ConnectionError, ErrorCode, protocolError } from './http2-error.ts';
import type { Headers, Http2Stream, StreamEvents, StreamFailure } from './http2-stream.ts';
import { StreamTable } from './stream-table.ts';

export interface Http2Options {
  socket: Socket;
  clock: Clock;
  /** A server's: returns who is told of a new stream. */
  accept?: (stream: Http2Stream) => StreamEvents;
  /** The first settings of the other side have come. Called once. */
  onReady?(): void;
  /** No more streams can be opened: one of the two is going away, or the connection is lost. Called once. */
  onLeaving(): void;
  /** Called once, with the reason unless it ended in order. */
  onClosed(why: Error | undefined): void;
}

/** Streams that a client may have open. Sidecars have a hundred workers or so. */
export const MAX_STREAMS = 1024;
/** A peer that leaves so much unread may open no more streams. */
const MAX_UNREAD_BYTES = 64 << 20;

export class Http2Connection {
  readonly #options: Http2Options;
  readonly #socket: Socket;
  readonly #streams: StreamTable;
  readonly #sender: FrameSender;
  readonly #receiver: FrameReceiver;
  readonly #reader = frameReader((frame) => this.#receiver.receive(frame));
  /** As much of it as has come; undefined once it is whole. */
  #preface: Buffer | undefined;
  #isLeaving = false;
  #isOver = false;
  #error: Error | undefined;

  constructor(options: Http2Options) {
    const { socket, clock, accept } = options;
    const isServer = accept !== undefined;
    this.#options = options;
    this.#socket = socket;
    this.#streams = new StreamTable({ isServer, onClose: () => this.#endIfIdle() });
    this.#sender = new FrameSender(socket, (stream) => {
      if (stream.isRemoteEnded) this.#streams.close(stream);
    });
    this.#receiver = new FrameReceiver({
      streams: this.#streams,
      sender: this.#sender,
      // As much as other servers tolerate, and more than honest clients need.
      nuisance: new TokenBucket({ clock, burst: 1000, perSecond: 33 }),
      accept: accept && ((id) => this.#accept(id, accept)),
      onReady: () => options.onReady?.(),
      onGoaway: (goaway) => this.#receiveGoaway(goaway),
    });
    if (isServer) this.#preface = Buffer.alloc(0);
    else this.#sender.send(PREFACE);
    this.#sender.send(
      settingsFrame([
        [Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW],
        [Setting.MAX_HEADER_LIST_SIZE, MAX_HEADER_LIST_BYTES],
        isServer ? [Setting.MAX_CONCURRENT_STREAMS, MAX_STREAMS] : [Setting.ENABLE_PUSH, 0],
      ]),
    );
    this.#sender.send(numberFrame(FrameType.WINDOW_UPDATE, 0, CONNECTION_WINDOW - DEFAULT_WINDOW));
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => {
      this.#error ??= error;
    });
    socket.on('close', () => this.#closed());
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Whether the server takes another stream now. */
  get hasRoom(): boolean {
    return this.#streams.hasRoom;
  }

  /** Calls back, once, when that may have changed. */
  whenRoom(callback: () => void): void {
    this.#streams.whenRoom(callback);
  }

  /** A client's new stream. */
  open(events: StreamEvents): Http2Stream {
    const stream = this.#streams.openOwn(this.#windows());
    stream.events = events;
    if (this.#streams.isUsedUp) this.leave();
    return stream;
  }

  sendHeaders(stream: Http2Stream, headers: Headers): void {
    this.#sender.sendHeaders(stream, headers);
  }

  /** See FrameSender. */
  sendData(stream: Http2Stream, framed: Buffer, isEnd: boolean, sent?: () => void): void {
    this.#sender.sendData(stream, framed, isEnd, sent);
  }

  /** See FrameSender. */
  passData(stream: Http2Stream, bytes: Buffer, isEnd: boolean, sent?: () => void): void {
    this.#sender.passData(stream, bytes, isEnd, sent);
  }

  /** See FrameReceiver. */
  grant(stream: Http2Stream, bytes: number): void {
    this.#receiver.grant(stream, bytes);
  }

  /** Gives a stream up. Its owner is told nothing more. */
  reset(stream: Http2Stream, code: number): void {
    if (!stream.isRemoteEnded) this.#streams.rememberReset(stream.id);
    if (this.#streams.close(stream)) this.#sender.send(numberFrame(FrameType.RST_STREAM, stream.id, code));
  }

  /** Opens and accepts no more streams; ends when the last one has. Idempotent. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#sender.send(goawayFrame(this.#streams.lastPeer, ErrorCode.NO_ERROR, ''));
    this.#left();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #windows(): { send: number; receive: number } {
    return { send: this.#sender.streamWindow, receive: STREAM_WINDOW };
  }

  #accept(id: number, accept: (stream: Http2Stream) => StreamEvents): Http2Stream | undefined {
    const isFull = this.#streams.size >= MAX_STREAMS || this.#socket.writableLength > MAX_UNREAD_BYTES;
    if (isFull || this.#isLeaving) return undefined;
    const stream = this.#streams.openPeer(id, this.#windows());
    stream.events = accept(stream);
    return stream;
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
      this.#sender.send(goawayFrame(this.#streams.lastPeer, error.code, error.message));
      this.#sender.flush();
      // A peer that does not read would not read this either.
      if (this.#socket.writableNeedDrain) this.#socket.destroy();
      else this.#socket.destroySoon();
    }
  }

  #readPreface(before: Buffer, chunk: Buffer): Buffer {
    const seen = Buffer.concat([before, chunk]);
    const length = Math.min(seen.length, PREFACE.length);
    if (!seen.subarray(0, length).equals(PREFACE.subarray(0, length)))
      throw protocolError('this is not HTTP/2');
    this.#preface = length < PREFACE.length ? seen : undefined;
    return seen.subarray(PREFACE.length);
  }

  #receiveGoaway({ last, code, text }: { last: number; code: number; text: string }): void {
    if (code !== ErrorCode.NO_ERROR) this.#error ??= new Error(text);
    this.#left();
    if (this.#options.accept) return;
    for (const stream of [...this.#streams.values()]) {
      if (stream.id <= last || !this.#streams.close(stream)) continue;
      stream.events.aborted({ kind: 'refused', code, text });
    }
  }

  #left(): void {
    if (!this.#isLeaving) {
      this.#isLeaving = true;
      this.#options.onLeaving();
      this.#streams.tellOfRoom();
    }
    this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (!this.#isLeaving || this.#streams.size > 0) return;
    // After the frames that this turn has still to send.
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
      if (this.#streams.close(stream)) stream.events.aborted(failure);
    }
    this.#options.onClosed(this.#error);
  }
}
