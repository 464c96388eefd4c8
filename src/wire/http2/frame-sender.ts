// The sending half of a connection. All frames of one turn of the event loop go out in one write; data waits for the
// peer's flow-control windows.

import type { Socket } from 'node:net';
import {
  DEFAULT_WINDOW,
  Flag,
  FrameType,
  frameOf,
  HEADER_BYTES,
  MAX_FRAME_BYTES,
  MAX_WINDOW,
  writeFrameHeader,
} from './frame.ts';
import { HeaderEncoder } from './header-encoder.ts';
import { ConnectionError, ErrorCode } from './http2-error.ts';
import type { Headers, Http2Stream } from './http2-stream.ts';

/** Acknowledgements and resets that a peer may leave unread while it provokes more of them. */
const MAX_UNREAD_REPLIES = 1000;

/** A buffer of this size costs more to copy than to hand over by itself. */
const LARGE_BYTES = 4096;

/** The same bytes in fewer buffers: runs of small ones are copied together, large ones are left as they are. */
function joined(buffers: readonly Buffer[]): Buffer[] {
  const runs: Buffer[] = [];
  let from = 0;
  for (let at = 0; at <= buffers.length; at++) {
    const large = buffers[at];
    if (large !== undefined && large.length < LARGE_BYTES) continue;
    if (at > from)
      runs.push(at - from === 1 ? (buffers[from] as Buffer) : Buffer.concat(buffers.slice(from, at)));
    if (large !== undefined) runs.push(large);
    from = at + 1;
  }
  return runs;
}

export class FrameSender {
  readonly #socket: Socket;
  readonly #onEnd: (stream: Http2Stream) => void;
  readonly #encoder = new HeaderEncoder();
  #frames: Buffer[] = [];
  #sent: (() => void)[] = [];
  #unreadReplies = 0;
  #window = DEFAULT_WINDOW;
  #maxFrameBytes = MAX_FRAME_BYTES;
  /** The window that the peer gives a new stream. */
  streamWindow = DEFAULT_WINDOW;

  /** `onEnd`: the last frame of a stream went out. */
  constructor(socket: Socket, onEnd: (stream: Http2Stream) => void) {
    this.#socket = socket;
    this.#onEnd = onEnd;
    socket.on('drain', () => {
      this.#unreadReplies = 0;
    });
  }

  send(frame: Buffer): void {
    if (this.#frames.push(frame) === 1) process.nextTick(() => this.flush());
  }

  /** A frame that the peer provoked. A peer that provokes them and does not read is cut off. */
  reply(frame: Buffer): void {
    if (this.#socket.writableNeedDrain && ++this.#unreadReplies > MAX_UNREAD_REPLIES) {
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many frames that ask for an answer');
    }
    this.send(frame);
  }

  flush(): void {
    const [first] = this.#frames;
    if (first === undefined) return;
    const frames = this.#frames.length === 1 ? this.#frames : joined(this.#frames);
    this.#frames = [];
    const sent = this.#sent;
    if (sent.length > 0) this.#sent = [];
    if (!this.#socket.writable) return;
    const last = frames.pop() as Buffer;
    // Several buffers that are written while corked go to the system in one call, uncopied.
    if (frames.length > 0) this.#socket.cork();
    for (const bytes of frames) this.#socket.write(bytes);
    this.#socket.write(
      last,
      sent.length === 0
        ? undefined
        : () => {
            for (const callback of sent) callback();
          },
    );
    if (frames.length > 0) this.#socket.uncork();
  }

  sendHeaders(stream: Http2Stream, headers: Headers): void {
    if (stream.isLocalEnded) return;
    if (stream.unsent.length > 0) {
      stream.unsent.push({ headers });
      return;
    }
    const block = this.#encoder.encode(headers.known, headers.once);
    const isEnd = headers.isEnd ?? false;
    for (let at = 0; at === 0 || at < block.length; at += this.#maxFrameBytes) {
      const end = Math.min(block.length, at + this.#maxFrameBytes);
      const type = at === 0 ? FrameType.HEADERS : FrameType.CONTINUATION;
      const endStream = at === 0 && isEnd ? Flag.END_STREAM : 0;
      const endHeaders = end === block.length ? Flag.END_HEADERS : 0;
      this.send(frameOf(type, endStream | endHeaders, stream.id, block.subarray(at, end)));
    }
    if (isEnd) this.#end(stream);
  }

  /**
   * Sends what stands in `framed` after the room for a frame's header, and takes the buffer over. `sent` is called when it
   * was handed to the system, which may have to wait for the peer's windows; never, if the stream ends before.
   */
  sendData(stream: Http2Stream, framed: Buffer, isEnd: boolean, sent?: () => void): void {
    if (stream.isLocalEnded) return;
    const bytes = framed.length - HEADER_BYTES;
    if (stream.unsent.length > 0 || bytes > this.#room(stream)) {
      stream.unsent.push({ bytes: framed.subarray(HEADER_BYTES), isEnd, sent });
      this.sendUnsent(stream);
      return;
    }
    const flags = isEnd ? Flag.END_STREAM : 0;
    writeFrameHeader(framed, 0, { type: FrameType.DATA, flags, stream: stream.id, bytes });
    this.#sendFramed(stream, framed);
    if (sent) this.#sent.push(sent);
    if (isEnd) this.#end(stream);
  }

  /** As `sendData`, for bytes without room before them: they are not copied, so they must not change any more. */
  passData(stream: Http2Stream, bytes: Buffer, isEnd: boolean, sent?: () => void): void {
    if (stream.isLocalEnded) return;
    stream.unsent.push({ bytes, isEnd, sent });
    this.sendUnsent(stream);
  }

  /** Sends what waits, as far as the peer's windows reach. */
  sendUnsent(stream: Http2Stream): void {
    for (let next = stream.unsent[0]; next !== undefined; next = stream.unsent[0]) {
      if ('headers' in next) {
        stream.unsent.length = 0;
        this.sendHeaders(stream, next.headers);
        return;
      }
      const room = this.#room(stream);
      if (room <= 0 && next.bytes.length > 0) return;
      const part = next.bytes.subarray(0, room);
      const isWhole = part.length === next.bytes.length;
      const isEnd = isWhole && next.isEnd;
      this.#sendPart(stream, part, isEnd);
      if (isWhole) {
        stream.unsent.shift();
        if (next.sent) this.#sent.push(next.sent);
      } else stream.unsent[0] = { ...next, bytes: next.bytes.subarray(room) };
      if (isEnd) this.#end(stream);
    }
  }

  limitFrames(bytes: number): void {
    this.#maxFrameBytes = bytes;
  }

  limitHeaderTable(bytes: number): void {
    this.#encoder.resize(bytes);
  }

  /** The peer widens the window of the connection. */
  widen(bytes: number): void {
    this.#window += bytes;
    if (this.#window > MAX_WINDOW) {
      throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'a window too large');
    }
  }

  #room(stream: Http2Stream): number {
    return Math.min(stream.sendWindow, this.#window, this.#maxFrameBytes);
  }

  #sendFramed(stream: Http2Stream, frame: Buffer): void {
    this.#use(stream, frame.length - HEADER_BYTES);
    this.send(frame);
  }

  #sendPart(stream: Http2Stream, part: Buffer, isEnd: boolean): void {
    const bytes = part.length;
    this.#use(stream, bytes);
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    const flags = isEnd ? Flag.END_STREAM : 0;
    writeFrameHeader(header, 0, { type: FrameType.DATA, flags, stream: stream.id, bytes });
    this.send(header);
    if (bytes > 0) this.send(part);
  }

  #use(stream: Http2Stream, bytes: number): void {
    stream.sendWindow -= bytes;
    this.#window -= bytes;
  }

  #end(stream: Http2Stream): void {
    stream.isLocalEnded = true;
    this.#onEnd(stream);
  }
}
