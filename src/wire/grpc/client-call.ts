// The client's side of one call: sent once there is a connection; ended exactly once, at its deadline at the latest.

import type { Clock, Timer } from '../clock.ts';
import type { HeaderField } from '../http2/header-table.ts';
import type { Http2Connection } from '../http2/http2-connection.ts';
import { ErrorCode } from '../http2/http2-error.ts';
import type { Http2Stream, StreamEvents, StreamFailure } from '../http2/http2-stream.ts';
import {
  type CallStatus,
  contentType,
  formatTimeout,
  readAnswer,
  statusOfFailure,
  statusOfHttp,
} from './call-headers.ts';
import type { ChannelCall } from './channel.ts';
import { grpcCodes } from './grpc-code.ts';
import { type MessageFault, MessageReader } from './message-framing.ts';

export interface ClientCallOptions {
  clock: Clock;
  /** `/csi.v1.Controller/CreateVolume`; the same object for each call of the method. */
  path: HeaderField;
  /** The request: after its headroom, with its prefix. */
  framed: Buffer;
  /** Default: a unix socket's. */
  origin?: CallOrigin | undefined;
  timeoutMs: number;
  maxMessageBytes: number;
  /** A message of the answer; see `release`. */
  onMessage(bytes: Buffer): void;
  onEnd(status: CallStatus): void;
}

/** Of messages that came and that the reader of a stream has not taken yet. */
const MAX_UNREAD_BYTES = 1 << 20;

/** Which server a call is for; the same fields for each call of a channel. */
export interface CallOrigin {
  readonly scheme: HeaderField;
  readonly authority: HeaderField;
}

const method: HeaderField = { name: ':method', value: 'POST' };
const unixSocket: CallOrigin = {
  scheme: { name: ':scheme', value: 'http' },
  // A unix socket has no name; gRPC programs agree on this one.
  authority: { name: ':authority', value: 'localhost' },
};
const trailers: HeaderField = { name: 'te', value: 'trailers' };
const userAgent: HeaderField = { name: 'user-agent', value: 'berth' };

export class ClientCall implements StreamEvents, ChannelCall {
  readonly #options: ClientCallOptions;
  readonly #deadlineMs: number;
  readonly #timer: Timer;
  readonly #messages: MessageReader;
  #connection: Http2Connection | undefined;
  #stream: Http2Stream | undefined;
  #isOver = false;
  #unreadBytes = 0;
  #heldBytes = 0;
  #http: string | undefined;
  #type: string | undefined;

  constructor(options: ClientCallOptions) {
    const { clock, timeoutMs } = options;
    this.#options = options;
    this.#messages = new MessageReader(options.maxMessageBytes, (message) => {
      this.#unreadBytes += message.length;
      options.onMessage(message);
    });
    this.#deadlineMs = clock.monotonicMs() + timeoutMs;
    this.#timer = clock.setTimeout(
      () => this.cancel({ code: grpcCodes.DEADLINE_EXCEEDED, text: 'deadline exceeded', isOurs: true }),
      timeoutMs,
    );
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  send(connection: Http2Connection): void {
    const { path, framed, clock, origin = unixSocket } = this.#options;
    this.#connection = connection;
    this.#stream = connection.open(this);
    const timeout = formatTimeout(this.#deadlineMs - clock.monotonicMs());
    connection.sendHeaders(this.#stream, {
      known: [method, origin.scheme, path, origin.authority, contentType, trailers, userAgent],
      once: [{ name: 'grpc-timeout', value: timeout }],
    });
    connection.sendData(this.#stream, framed, true);
  }

  /** Ends it here, and tells the other side, which may still be working on it. */
  cancel(status: CallStatus): void {
    if (this.#isOver) return;
    if (this.#stream) this.#connection?.reset(this.#stream, ErrorCode.CANCEL);
    this.#end(status);
  }

  headers(fields: readonly string[], { isEnd, isTooLong }: { isEnd: boolean; isTooLong: boolean }): void {
    if (this.#isOver) return;
    const { http, type, status } = readAnswer(fields);
    this.#http ??= http;
    this.#type ??= type;
    if (isTooLong) this.cancel({ code: grpcCodes.INTERNAL, text: 'too many headers', isOurs: true });
    else if (isEnd) this.#ended(status ?? statusOfHttp(this.#http, this.#type));
    else if (
      this.#http !== undefined &&
      (this.#http !== '200' || !this.#type?.startsWith('application/grpc'))
    )
      this.cancel(statusOfHttp(this.#http, this.#type));
  }

  data(bytes: Buffer, isEnd: boolean): void {
    if (this.#isOver) return;
    const fault = this.#messages.push(bytes);
    this.#heldBytes += bytes.length;
    this.#grant();
    if (fault) this.#refuse(fault);
    else if (isEnd) this.#ended(statusOfHttp(this.#http, this.#type));
  }

  /** The reader of a stream has taken so many bytes of messages. The window stays closed while too many are not taken. */
  release(bytes: number): void {
    this.#unreadBytes -= bytes;
    this.#grant();
  }

  aborted(why: StreamFailure): void {
    this.#end(statusOfFailure(why));
  }

  #ended(status: CallStatus): void {
    // The answer is complete; what is left of the request is not sent any more.
    if (this.#stream) this.#connection?.reset(this.#stream, ErrorCode.NO_ERROR);
    const fault = status.code === grpcCodes.OK ? this.#messages.end() : undefined;
    if (fault) this.#refuse(fault);
    else this.#end(status);
  }

  #grant(): void {
    if (this.#unreadBytes > MAX_UNREAD_BYTES || this.#heldBytes === 0) return;
    if (this.#stream) this.#connection?.grant(this.#stream, this.#heldBytes);
    this.#heldBytes = 0;
  }

  #refuse(fault: MessageFault): void {
    const { maxMessageBytes } = this.#options;
    const isTooLong = fault === 'too long';
    this.cancel({
      code: isTooLong ? grpcCodes.RESOURCE_EXHAUSTED : grpcCodes.INTERNAL,
      text: isTooLong ? `the answer is longer than ${maxMessageBytes} bytes` : `the answer is ${fault}`,
      isOurs: true,
    });
  }

  #end(status: CallStatus): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer.cancel();
    this.#options.onEnd(status);
  }
}
