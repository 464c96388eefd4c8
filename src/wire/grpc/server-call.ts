// The server's side of one call: the request is put together, handed over, and answered exactly once. The signal and the
// timer of the deadline are made when a handler asks for them, which most never do.

import type { Clock, Timer } from '../clock.ts';
import { HEADER_BYTES } from '../http2/frame.ts';
import type { HeaderField } from '../http2/header-table.ts';
import type { Http2Connection } from '../http2/http2-connection.ts';
import { ErrorCode } from '../http2/http2-error.ts';
import type { Http2Stream, StreamEvents, StreamFailure } from '../http2/http2-stream.ts';
import type { CallContext } from './call-context.ts';
import { contentType, httpOk, statusHeaders } from './call-headers.ts';
import { grpcCodes } from './grpc-code.ts';
import { MessageReader, prefixMessage } from './message-framing.ts';
import { type Refusal, type RequestHead, readRequestHead } from './request-head.ts';

export interface ServerCallOptions {
  connection: Http2Connection;
  stream: Http2Stream;
  clock: Clock;
  peer: string;
  maxMessageBytes: number;
  /** The bytes held of this request change by so many; false when the server holds too many of all requests. */
  hold(bytes: number): boolean;
  /** The request is complete. */
  onRequest(path: string, request: Buffer): void;
}

export interface AnswerStatus {
  readonly code: number;
  readonly text?: string;
  readonly details?: Uint8Array | undefined;
}

const answerHead: readonly HeaderField[] = [httpOk, contentType];
const plainText: HeaderField = { name: 'content-type', value: 'text/plain' };

export class ServerCall implements StreamEvents, CallContext {
  readonly #options: ServerCallOptions;
  readonly #messages: MessageReader;
  #head: RequestHead | undefined;
  #startMs = 0;
  #heldBytes = 0;
  #request: Buffer | undefined;
  #requests = 0;
  #hasBegun = false;
  #isOver = false;
  #controller: AbortController | undefined;
  #timer: Timer | undefined;
  /** Why the signal is aborted, also one that is made later. */
  #abortReason: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(options: ServerCallOptions) {
    this.#options = options;
    this.#messages = new MessageReader(options.maxMessageBytes, (message) => {
      this.#request = message;
      this.#requests++;
    });
  }

  get peer(): string {
    return this.#options.peer;
  }

  get deadline(): number | undefined {
    const timeoutMs = this.#head?.timeoutMs;
    return timeoutMs === undefined ? undefined : this.#startMs + timeoutMs;
  }

  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal;
    this.#controller = new AbortController();
    const { deadline } = this;
    if (this.#abortReason) this.#controller.abort(this.#abortReason);
    else if (deadline !== undefined && !this.#isOver) {
      const leftMs = deadline - this.#options.clock.now();
      this.#timer = this.#options.clock.setTimeout(() => {
        this.abort(new Error('the deadline of the call has passed'));
        this.answer({ code: grpcCodes.DEADLINE_EXCEEDED, text: 'deadline exceeded' });
      }, leftMs);
    }
    return this.#controller.signal;
  }

  headers(fields: readonly string[], { isEnd, isTooLong }: { isEnd: boolean; isTooLong: boolean }): void {
    if (this.#isOver) return;
    // The trailers of a request have no meaning in gRPC.
    if (this.#head === undefined) {
      this.#head = readRequestHead(fields, isTooLong);
      this.#startMs = this.#options.clock.now();
    }
    if (isEnd) this.#requestEnded();
  }

  data(bytes: Buffer, isEnd: boolean): void {
    if (this.#isOver) return;
    this.#options.connection.grant(this.#options.stream, bytes.length);
    // What a refused request goes on to say is dropped.
    const fault = this.#head?.refusal ? undefined : this.#messages.push(bytes);
    if (fault === 'too long') {
      const text = `the request is longer than ${this.#options.maxMessageBytes} bytes`;
      this.answer({ code: grpcCodes.RESOURCE_EXHAUSTED, text });
    } else if (fault) this.answer({ code: grpcCodes.UNIMPLEMENTED, text: `the request is ${fault}` });
    else if (isEnd) this.#requestEnded();
    else if (!this.#hold(this.#messages.heldBytes + (this.#request?.length ?? 0))) {
      const text = 'the server holds too many unfinished requests; try again later';
      this.answer({ code: grpcCodes.RESOURCE_EXHAUSTED, text });
    }
  }

  aborted(_why: StreamFailure): void {
    this.abort(new Error('the caller gave up'));
    this.#end();
  }

  /** Tells the handler that nobody waits. */
  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
    this.#wake?.();
  }

  /** A message after its headroom; resolves when there is room for another, or nobody wants one. */
  send(framed: Buffer): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    const { connection, stream } = this.#options;
    prefixMessage(framed);
    this.#sendHead();
    return new Promise((resolve) => {
      this.#wake = resolve;
      connection.sendData(stream, framed, false, resolve);
    });
  }

  /** The end, with the one message of a call that has one. */
  answer(status: AnswerStatus, framed?: Buffer): void {
    if (this.#isOver) return;
    const { connection, stream } = this.#options;
    if (framed) {
      prefixMessage(framed);
      this.#sendHead();
      connection.sendData(stream, framed, false);
    }
    const { known, once } = statusHeaders(status);
    connection.sendHeaders(stream, {
      known: this.#hasBegun ? known : [...answerHead, ...known],
      once,
      isEnd: true,
    });
    this.#end();
  }

  #sendHead(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#options.connection.sendHeaders(this.#options.stream, { known: answerHead });
  }

  #hold(bytes: number): boolean {
    const change = bytes - this.#heldBytes;
    this.#heldBytes = bytes;
    return change === 0 || this.#options.hold(change);
  }

  #requestEnded(): void {
    const request = this.#request;
    const { path, refusal } = this.#head as RequestHead;
    if (refusal) this.#refuse(refusal);
    else if (request === undefined || this.#requests > 1 || this.#messages.end()) {
      this.answer({ code: grpcCodes.INTERNAL, text: 'a request is one whole message' });
    } else {
      this.#hold(0);
      this.#request = undefined;
      this.#options.onRequest(path, request);
    }
  }

  /** Only at the end of the request: before it, HTTP/2 may still find the request malformed. */
  #refuse(refusal: Refusal): void {
    if ('code' in refusal) {
      this.answer(refusal);
      return;
    }
    const { connection, stream } = this.#options;
    connection.sendHeaders(stream, {
      known: [],
      once: [{ name: ':status', value: refusal.http }, plainText],
    });
    connection.sendData(stream, Buffer.from(`${' '.repeat(HEADER_BYTES)}${refusal.text}\n`), true);
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    this.#hold(0);
    const { connection, stream } = this.#options;
    // What is left of a request that was answered before its end is not wanted.
    if (!stream.isRemoteEnded) connection.reset(stream, ErrorCode.NO_ERROR);
  }
}
