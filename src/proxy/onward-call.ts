// The driver's side of one forwarded call: sends what the caller sends, once there is a connection, and hands over what the
// driver answers.

import type { CallStatus } from '../wire/grpc/call-headers.ts';
import type { ChannelCall } from '../wire/grpc/channel.ts';
import type { Http2Connection } from '../wire/http2/http2-connection.ts';
import { ErrorCode } from '../wire/http2/http2-error.ts';
import type { Headers, Http2Stream, StreamEvents, StreamFailure } from '../wire/http2/http2-stream.ts';

export interface OnwardCallOptions {
  /** Asked for when the call is sent. */
  head(): Headers;
  /** The driver's, in messages. */
  address: string;
  answer: StreamEvents;
}

interface Part {
  readonly bytes: Buffer;
  readonly isEnd: boolean;
  readonly sent: (() => void) | undefined;
}

export class OnwardCall implements StreamEvents, ChannelCall {
  readonly #options: OnwardCallOptions;
  #connection: Http2Connection | undefined;
  #stream: Http2Stream | undefined;
  /** Until there is a connection. */
  #unsent: Part[] = [];
  #isOver = false;

  constructor(options: OnwardCallOptions) {
    this.#options = options;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  send(connection: Http2Connection): void {
    this.#connection = connection;
    this.#stream = connection.open(this);
    connection.sendHeaders(this.#stream, this.#options.head());
    for (const { bytes, isEnd, sent } of this.#unsent) connection.passData(this.#stream, bytes, isEnd, sent);
    this.#unsent = [];
  }

  /** More of the request. `sent` is called when it is on its way; never, if the call ends before. */
  pass(bytes: Buffer, isEnd: boolean, sent?: () => void): void {
    if (this.#isOver) return;
    if (this.#stream) this.#connection?.passData(this.#stream, bytes, isEnd, sent);
    else this.#unsent.push({ bytes, isEnd, sent });
  }

  /** So many bytes of the answer have been dealt with. */
  grant(bytes: number): void {
    if (this.#stream) this.#connection?.grant(this.#stream, bytes);
  }

  /** There is no connection. */
  cancel({ text }: CallStatus): void {
    this.aborted({ kind: 'lost', code: ErrorCode.NO_ERROR, text });
  }

  /** The answer is not wanted any more. */
  giveUp(why: StreamFailure): void {
    if (this.#isOver) return;
    if (this.#stream) this.#connection?.reset(this.#stream, why.code);
    this.aborted(why);
  }

  headers(fields: readonly string[], state: { isEnd: boolean; isTooLong: boolean }): void {
    if (this.#isOver) return;
    if (state.isEnd) this.#ended();
    this.#options.answer.headers(fields, state);
  }

  data(bytes: Buffer, isEnd: boolean): void {
    if (this.#isOver) return;
    if (isEnd) this.#ended();
    this.#options.answer.data(bytes, isEnd);
  }

  aborted(why: StreamFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { answer, address } = this.#options;
    const text = why.kind === 'reset' ? why.text : `no connection to the driver at ${address}: ${why.text}`;
    answer.aborted({ ...why, text });
  }

  #ended(): void {
    this.#isOver = true;
    // What is left of the request is not wanted.
    if (this.#stream) this.#connection?.reset(this.#stream, ErrorCode.NO_ERROR);
  }
}
