// One call as its server has it: the request put together, handed over, and answered exactly once. Its signal and the
// timer of its deadline are made when somebody asks for them, which most handlers never do.

import type { Clock, Timer } from '../clock.ts';
import { ErrorCode } from '../http2/frame.ts';
import type { HeaderField } from '../http2/header-table.ts';
import type { Http2Connection } from '../http2/http2-connection.ts';
import type { Http2Stream, StreamEvents, StreamFailure } from '../http2/http2-stream.ts';
import type { CallContext } from './call-context.ts';
import { contentType, httpOk, parseTimeout, statusHeaders } from './call-headers.ts';
import { grpcCodes } from './grpc-code.ts';
import { MessageReader, prefixMessage } from './message-framing.ts';

export interface ServerCallOptions {
  connection: Http2Connection;
  stream: Http2Stream;
  clock: Clock;
  peer: string;
  maxMessageBytes: number;
  /** The request is there. */
  onRequest(path: string, request: Buffer): void;
}

export interface AnswerStatus {
  readonly code: number;
  readonly text?: string;
  readonly details?: Uint8Array | undefined;
}

const begin: readonly HeaderField[] = [httpOk, contentType];

export class ServerCall implements StreamEvents, CallContext {
  readonly #options: ServerCallOptions;
  readonly #messages: MessageReader;
  #path = '';
  #timeoutMs: number | undefined;
  #startMs = 0;
  #request: Buffer | undefined;
  #requests = 0;
  #hasBegun = false;
  #isOver = false;
  #controller: AbortController | undefined;
  #timer: Timer | undefined;
  /** Why the signal is aborted, as soon as there is one. */
  #abortReason: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(options: ServerCallOptions) {
    this.#options = options;
    this.#messages = new MessageReader(options.maxMessageBytes);
  }

  get peer(): string {
    return this.#options.peer;
  }

  get deadline(): number | undefined {
    return this.#timeoutMs === undefined ? undefined : this.#startMs + this.#timeoutMs;
  }

  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal;
    this.#controller = new AbortController();
    if (this.#abortReason) this.#controller.abort(this.#abortReason);
    else if (this.#timeoutMs !== undefined && !this.#isOver) {
      const leftMs = this.#startMs + this.#timeoutMs - this.#options.clock.now();
      this.#timer = this.#options.clock.setTimeout(() => {
        this.abort(new Error('the deadline of the call has passed'));
        this.answer({ code: grpcCodes.DEADLINE_EXCEEDED, text: 'deadline exceeded' });
      }, leftMs);
    }
    return this.#controller.signal;
  }

  headers(fields: readonly string[], { isEnd, isTooLong }: { isEnd: boolean; isTooLong: boolean }): void {
    if (this.#isOver) return;
    // The second block of a request has nothing to say.
    if (this.#path !== '') {
      if (isEnd) this.#requestEnded();
      return;
    }
    const head = readHead(fields);
    this.#path = head.path;
    this.#timeoutMs = head.timeout === undefined ? undefined : parseTimeout(head.timeout);
    this.#startMs = this.#options.clock.now();
    if (isTooLong) this.#refuse('431');
    else if (head.method !== 'POST') this.#refuse('405');
    else if (!/^application\/grpc($|[+;])/.test(head.type)) this.#refuse('415');
    else if (head.path === '') this.#refuse('400');
    else if (head.timeout !== undefined && this.#timeoutMs === undefined) {
      this.answer({ code: grpcCodes.INTERNAL, text: `grpc-timeout ${head.timeout} is no time` });
    } else if (isEnd) this.#requestEnded();
  }

  data(bytes: Buffer, isEnd: boolean): void {
    if (this.#isOver) return;
    this.#options.connection.grant(this.#options.stream, bytes.length);
    const fault = this.#messages.push(bytes, (message) => {
      this.#request = message;
      this.#requests++;
    });
    if (fault === 'too long') {
      const text = `the request is longer than ${this.#options.maxMessageBytes} bytes`;
      this.answer({ code: grpcCodes.RESOURCE_EXHAUSTED, text });
    } else if (fault) this.answer({ code: grpcCodes.UNIMPLEMENTED, text: `the request is ${fault}` });
    else if (isEnd) this.#requestEnded();
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
    this.#begin();
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
      this.#begin();
      connection.sendData(stream, framed, false);
    }
    const { known, once } = statusHeaders(status);
    connection.sendHeaders(stream, {
      known: this.#hasBegun ? known : [...begin, ...known],
      once,
      isEnd: true,
    });
    this.#end();
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#options.connection.sendHeaders(this.#options.stream, { known: begin });
  }

  #requestEnded(): void {
    const request = this.#request;
    if (request === undefined || this.#requests > 1 || this.#messages.end()) {
      this.answer({ code: grpcCodes.INTERNAL, text: 'a request is one whole message' });
      return;
    }
    this.#request = undefined;
    this.#options.onRequest(this.#path, request);
  }

  #refuse(http: string): void {
    this.#options.connection.sendHeaders(this.#options.stream, {
      known: [],
      once: [{ name: ':status', value: http }],
      isEnd: true,
    });
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    const { connection, stream } = this.#options;
    // What is left of a request that was answered before its end is not wanted.
    if (!stream.isRemoteEnded) connection.reset(stream, ErrorCode.NO_ERROR);
  }
}

function readHead(fields: readonly string[]) {
  const head: { method: string; path: string; type: string; timeout: string | undefined } = {
    method: '',
    path: '',
    type: '',
    timeout: undefined,
  };
  for (let at = 0; at < fields.length; at += 2) {
    const value = fields[at + 1] as string;
    const name = fields[at];
    if (name === ':path') head.path = value;
    else if (name === ':method') head.method = value;
    else if (name === 'content-type') head.type = value;
    else if (name === 'grpc-timeout') head.timeout = value;
  }
  return head;
}
