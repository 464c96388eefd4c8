// The receiving half of a connection: what each frame of the peer does to streams, windows and settings. Throws a
// ConnectionError for what ends the connection. What ends one stream is answered here.

import type { TokenBucket } from '../token-bucket.ts';
import {
  Flag,
  type Frame,
  FrameType,
  frameOf,
  MAX_FRAME_BYTES,
  MAX_WINDOW,
  numberFrame,
  Setting,
} from './frame.ts';
import { checkPriority, expectBytes, expectNoStream, withoutPadding } from './frame-payload.ts';
import type { FrameSender } from './frame-sender.ts';
import { HeaderBlocks, type ReceivedHeaders } from './header-blocks.ts';
import { closed, ErrorCode, malformed, overrun, protocolError, StreamError, tooMany } from './http2-error.ts';
import type { Http2Stream } from './http2-stream.ts';
import { type BlockKind, checkBlock, isInterim } from './message-rules.ts';
import type { StreamTable } from './stream-table.ts';

/** The receive windows: most messages fit without a WINDOW_UPDATE; larger ones get some on their way. */
export const STREAM_WINDOW = 1 << 20;
export const CONNECTION_WINDOW = 4 << 20;
/** Each entry may touch every stream. Six are defined. */
const MAX_SETTINGS = 32;

export interface FrameReceiverOptions {
  streams: StreamTable;
  sender: FrameSender;
  /** What costs us more than the peer (streams opened and reset, settings, errors) is taken from it. */
  nuisance: TokenBucket;
  /** A server's: takes a new stream. Undefined for one that is refused. */
  accept: ((id: number) => Http2Stream | undefined) | undefined;
  /** The first settings of the peer have come. */
  onReady(): void;
  onGoaway(goaway: { last: number; code: number; text: string }): void;
}

export class FrameReceiver {
  readonly #options: FrameReceiverOptions;
  readonly #streams: StreamTable;
  readonly #sender: FrameSender;
  readonly #blocks = new HeaderBlocks();
  #hasPeerSettings = false;
  #window = CONNECTION_WINDOW;

  constructor(options: FrameReceiverOptions) {
    this.#options = options;
    this.#streams = options.streams;
    this.#sender = options.sender;
  }

  receive(frame: Frame): void {
    if (this.#blocks.isOpen && frame.type !== FrameType.CONTINUATION) {
      throw protocolError('another frame between the parts of a header block');
    }
    if (!this.#hasPeerSettings && (frame.type !== FrameType.SETTINGS || frame.flags & Flag.ACK)) {
      throw protocolError('the first frame is not SETTINGS');
    }
    try {
      this.#dispatch(frame);
    } catch (error) {
      if (!(error instanceof StreamError)) throw error;
      this.#resetStream(error);
    }
  }

  /** The owner has dealt with so many bytes: the peer may send as many more. */
  grant(stream: Http2Stream, bytes: number): void {
    stream.receiveWindow += bytes;
    stream.unannounced += bytes;
    if (stream.isRemoteEnded || stream.unannounced < STREAM_WINDOW / 2) return;
    this.#sender.send(numberFrame(FrameType.WINDOW_UPDATE, stream.id, stream.unannounced));
    stream.unannounced = 0;
  }

  #dispatch(frame: Frame): void {
    switch (frame.type) {
      case FrameType.DATA:
        this.#receiveData(frame);
        break;
      case FrameType.HEADERS:
      case FrameType.CONTINUATION: {
        const headers = this.#blocks.receive(frame, withoutPadding(frame));
        if (headers) this.#receiveHeaders(headers);
        break;
      }
      case FrameType.PRIORITY:
        checkPriority(frame);
        break;
      case FrameType.RST_STREAM:
        this.#receiveReset(frame);
        break;
      case FrameType.SETTINGS:
        this.#receiveSettings(frame);
        break;
      case FrameType.PUSH_PROMISE:
        throw protocolError('a push, which is not allowed here');
      case FrameType.PING:
        this.#receivePing(frame);
        break;
      case FrameType.GOAWAY:
        this.#receiveGoaway(frame);
        break;
      case FrameType.WINDOW_UPDATE:
        this.#receiveWindowUpdate(frame);
        break;
      default:
      // Unknown types are ignored (RFC 9113, section 5.5).
    }
  }

  #receiveData(frame: Frame): void {
    const bytes = frame.payload.length;
    this.#window -= bytes;
    if (this.#window < 0) throw overrun('the window of the connection');
    // The connection's window only bounds what is on its way: each stream is held to its own.
    if (this.#window < CONNECTION_WINDOW / 2) {
      this.#sender.send(numberFrame(FrameType.WINDOW_UPDATE, 0, CONNECTION_WINDOW - this.#window));
      this.#window = CONNECTION_WINDOW;
    }
    const data = withoutPadding(frame);
    const stream = this.#streams.get(frame.stream);
    if (stream === undefined && this.#streams.wasReset(frame.stream)) return;
    if (stream === undefined || stream.isRemoteEnded) {
      throw new StreamError(frame.stream, ErrorCode.STREAM_CLOSED, 'data after the end of a stream');
    }
    stream.receiveWindow -= bytes;
    if (stream.receiveWindow < 0) throw overrun('the window of a stream');
    if (!stream.hasHead) throw protocolError('data before the headers');
    const isEnd = (frame.flags & Flag.END_STREAM) !== 0;
    stream.bodyBytes += data.length;
    if (isEnd) this.#endRemote(stream);
    else this.#checkMore(stream, data.length);
    // The owner grants the data; nobody else would grant the padding.
    if (bytes > data.length) this.grant(stream, bytes - data.length);
    stream.events.data(data, isEnd);
  }

  #checkMore(stream: Http2Stream, bytes: number): void {
    if (bytes === 0) this.#limit('empty frames');
    if (stream.announcedBytes !== undefined && stream.bodyBytes > stream.announcedBytes) {
      throw malformed(stream.id, 'more data than content-length says');
    }
  }

  #receiveHeaders({ stream: id, fields, isEnd, isTooLong, isMalformed }: ReceivedHeaders): void {
    const { accept } = this.#options;
    const isNew = accept !== undefined && this.#streams.isNext(id);
    if (isNew) this.#streams.usePeer(id);
    let stream = this.#streams.get(id);
    if (stream === undefined && this.#streams.wasReset(id)) return;
    if (stream === undefined && !isNew) throw closed('headers after the end of a stream');
    if (stream?.isRemoteEnded) throw new StreamError(id, ErrorCode.STREAM_CLOSED, 'headers after the end');
    const kind: BlockKind = isNew ? 'request' : stream?.hasHead ? 'trailers' : 'response';
    if (isMalformed) throw malformed(id, 'a header has characters that are not allowed');
    if (kind === 'trailers' && !isEnd) throw malformed(id, 'trailers that do not end the stream');
    // A block that is too long was cut: its owner refuses it.
    const length = isTooLong ? undefined : checkBlock(kind, fields, id);
    stream ??= accept?.(id);
    if (stream === undefined) {
      this.#limit('streams beyond the limit');
      this.#reset(id, ErrorCode.REFUSED_STREAM);
    } else if (kind === 'response' && isInterim(fields)) {
      if (isEnd) throw malformed(id, 'an interim response that ends the stream');
    } else {
      if (kind !== 'trailers') {
        stream.hasHead = true;
        stream.announcedBytes = length;
      }
      if (isEnd) this.#endRemote(stream);
      stream.events.headers(fields, { isEnd, isTooLong });
    }
  }

  #receiveReset(frame: Frame): void {
    expectBytes(frame, 4);
    const stream = this.#streams.get(frame.stream);
    if (this.#options.accept) this.#limit('streams opened and reset');
    if (stream === undefined) return;
    this.#streams.close(stream);
    const code = frame.payload.readUInt32BE();
    const kind = code === ErrorCode.REFUSED_STREAM ? 'refused' : 'reset';
    stream.events.aborted({ kind, code, text: `the other side reset the call, with HTTP/2 error ${code}` });
  }

  #receiveSettings(frame: Frame): void {
    const isAck = (frame.flags & Flag.ACK) !== 0;
    const { length } = frame.payload;
    expectBytes(frame, isAck ? 0 : length - (length % 6));
    expectNoStream(frame);
    if (isAck) return;
    const isFirst = !this.#hasPeerSettings;
    this.#hasPeerSettings = true;
    if (!isFirst) this.#limit('settings');
    if (length > 6 * MAX_SETTINGS) throw tooMany('settings in one frame');
    for (let at = 0; at < length; at += 6) {
      this.#apply(frame.payload.readUInt16BE(at), frame.payload.readUInt32BE(at + 2));
    }
    this.#sender.reply(frameOf(FrameType.SETTINGS, Flag.ACK, 0, Buffer.alloc(0)));
    this.#sendUnsent();
    this.#streams.tellOfRoom();
    if (isFirst) this.#options.onReady();
  }

  #apply(setting: number, value: number): void {
    if (setting === Setting.HEADER_TABLE_SIZE) this.#sender.limitHeaderTable(value);
    else if (setting === Setting.ENABLE_PUSH) {
      if (value > 1) throw protocolError('SETTINGS_ENABLE_PUSH is neither 0 nor 1');
    } else if (setting === Setting.MAX_CONCURRENT_STREAMS) this.#streams.limit(value);
    else if (setting === Setting.MAX_FRAME_SIZE) {
      if (value < MAX_FRAME_BYTES || value >= 2 ** 24) throw protocolError('an impossible frame size');
      this.#sender.limitFrames(value);
    } else if (setting === Setting.INITIAL_WINDOW_SIZE) {
      if (value > MAX_WINDOW) throw overrun('the largest window');
      const change = value - this.#sender.streamWindow;
      this.#sender.streamWindow = value;
      for (const stream of this.#streams.values()) {
        stream.sendWindow += change;
        if (stream.sendWindow > MAX_WINDOW) throw overrun('the largest window');
      }
    }
  }

  #receivePing(frame: Frame): void {
    expectBytes(frame, 8);
    expectNoStream(frame);
    if (frame.flags & Flag.ACK) return;
    this.#sender.reply(frameOf(FrameType.PING, Flag.ACK, 0, frame.payload));
  }

  #receiveWindowUpdate(frame: Frame): void {
    expectBytes(frame, 4);
    const bytes = frame.payload.readUInt32BE() & 0x7fff_ffff;
    if (frame.stream === 0) {
      if (bytes === 0) throw protocolError('a window update of 0');
      this.#sender.widen(bytes);
      this.#sendUnsent();
      return;
    }
    const stream = this.#streams.get(frame.stream);
    if (stream === undefined) return;
    if (bytes === 0) throw malformed(stream.id, 'a window update of 0');
    stream.sendWindow += bytes;
    if (stream.sendWindow > MAX_WINDOW) {
      throw new StreamError(stream.id, ErrorCode.FLOW_CONTROL_ERROR, 'a window beyond the largest');
    }
    this.#sender.sendUnsent(stream);
  }

  #sendUnsent(): void {
    for (const stream of this.#streams.values()) {
      if (stream.unsent.length > 0) this.#sender.sendUnsent(stream);
    }
  }

  #receiveGoaway(frame: Frame): void {
    expectBytes(frame, Math.max(8, frame.payload.length));
    expectNoStream(frame);
    const last = frame.payload.readUInt32BE(0) & 0x7fff_ffff;
    const code = frame.payload.readUInt32BE(4);
    const debug = frame.payload.subarray(8, 200).toString();
    const why = code === ErrorCode.NO_ERROR ? '' : `, with HTTP/2 error ${code}${debug && `: ${debug}`}`;
    this.#options.onGoaway({ last, code, text: `the peer sent GOAWAY${why}` });
  }

  #endRemote(stream: Http2Stream): void {
    if (stream.announcedBytes !== undefined && stream.bodyBytes !== stream.announcedBytes) {
      throw malformed(stream.id, 'other data than content-length says');
    }
    stream.isRemoteEnded = true;
    if (stream.isLocalEnded) this.#streams.close(stream);
  }

  /** The peer broke a rule that concerns one stream. */
  #resetStream({ stream: id, code, message }: StreamError): void {
    this.#limit('errors in streams');
    this.#reset(id, code);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    this.#streams.close(stream);
    stream.events.aborted({
      kind: 'reset',
      code,
      text: `the other side broke the rules of HTTP/2: ${message}`,
    });
  }

  #reset(id: number, code: number): void {
    this.#streams.rememberReset(id);
    this.#sender.reply(numberFrame(FrameType.RST_STREAM, id, code));
  }

  #limit(what: string): void {
    if (!this.#options.nuisance.take()) throw tooMany(what);
  }
}
