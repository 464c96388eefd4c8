// The driver's answer to one forwarded call: held for the interceptors, or passed on as it comes. Its end is always held.

import { type CallStatus, readAnswer, statusOfFailure, statusOfHttp } from '../wire/grpc/call-headers.ts';
import { ErrorCode } from '../wire/http2/http2-error.ts';
import type { StreamEvents, StreamFailure } from '../wire/http2/http2-stream.ts';
import type { DescMessage, Message } from '../wire/protobuf/descriptor.ts';
import type { ProxiedAnswer } from './proxy-interceptor.ts';
import { readMessages } from './read-messages.ts';

export interface DriverAnswerOptions {
  /** Undefined: unknown. */
  schema: DescMessage | undefined;
  /** Where the answer goes as it comes; undefined: it is held. */
  passTo: { head(fields: readonly string[]): void; data(bytes: Buffer): void } | undefined;
  /** Of an answer that is held. */
  maxBytes: number;
  /** So many bytes were held. */
  onHeld(bytes: number): void;
  /** The answer cannot be taken: the call is to be given up. */
  onRefused(why: StreamFailure): void;
  onEnd(answer: DriverAnswer): void;
}

export class DriverAnswer implements StreamEvents, ProxiedAnswer {
  readonly #options: DriverAnswerOptions;
  /** What is held of it, in order. */
  head: readonly string[] | undefined;
  readonly body: Buffer[] = [];
  trailers: readonly string[] | undefined;
  failure: StreamFailure | undefined;
  #bytes = 0;
  #http: { http?: string; type?: string } = {};
  #status: CallStatus | undefined;
  #messages: readonly Message[] | undefined;

  constructor(options: DriverAnswerOptions) {
    this.#options = options;
  }

  get code(): number {
    return this.#ended.code;
  }

  get text(): string {
    return this.#ended.text;
  }

  get details(): Uint8Array | undefined {
    return this.#ended.details;
  }

  get isLost(): boolean {
    return this.#ended.isOurs;
  }

  get messages(): readonly Message[] {
    const { schema } = this.#options;
    this.#messages ??= schema ? readMessages(schema, this.body) : [];
    return this.#messages;
  }

  get bytes(): number {
    return this.#bytes;
  }

  headers(fields: readonly string[], { isEnd, isTooLong }: { isEnd: boolean; isTooLong: boolean }): void {
    if (isTooLong) {
      const text = 'the headers of the answer are too long';
      this.#options.onRefused({ kind: 'reset', code: ErrorCode.ENHANCE_YOUR_CALM, text });
    } else if (isEnd) {
      this.trailers = fields;
      this.#options.onEnd(this);
    } else {
      this.#http = readAnswer(fields);
      if (this.#options.passTo) this.#options.passTo.head(fields);
      else this.head = fields;
    }
  }

  data(bytes: Buffer, isEnd: boolean): void {
    const { passTo, maxBytes } = this.#options;
    if (passTo) passTo.data(bytes);
    else {
      this.body.push(bytes);
      this.#bytes += bytes.length;
      if (this.#bytes > maxBytes) {
        const text = `the answer is longer than ${maxBytes} bytes, which the proxy does not hold`;
        this.#options.onRefused({ kind: 'reset', code: ErrorCode.ENHANCE_YOUR_CALM, text });
        return;
      }
      this.#options.onHeld(bytes.length);
    }
    if (isEnd) this.#options.onEnd(this);
  }

  aborted(why: StreamFailure): void {
    this.failure = why;
    this.#options.onEnd(this);
  }

  /** As a client of the driver would see it. */
  get #ended(): CallStatus {
    this.#status ??= this.failure ? statusOfFailure(this.failure) : this.#read();
    return this.#status;
  }

  #read(): CallStatus {
    const { status, http = this.#http.http, type = this.#http.type } = readAnswer(this.trailers ?? []);
    return status ?? statusOfHttp(http, type);
  }
}
