// The caller's side of one forwarded call: hands the request on, through the interceptors, and gives the caller one answer.
// Bytes are passed as they came; only an interceptor that asks makes it decode them.

import { CsiError } from '../csi/csi-error.ts';
import { csiMethodAt } from '../csi/names/csi-methods.ts';
import type { Clock, Log } from '../runtime/ports.ts';
import {
  contentType,
  formatTimeout,
  httpOk,
  parseTimeout,
  statusHeaders,
} from '../wire/grpc/call-headers.ts';
import type { Channel } from '../wire/grpc/channel.ts';
import { grpcCodes } from '../wire/grpc/grpc-code.ts';
import type { AnswerStatus } from '../wire/grpc/server-call.ts';
import type { Http2Connection } from '../wire/http2/http2-connection.ts';
import { ErrorCode } from '../wire/http2/http2-error.ts';
import type { Headers, Http2Stream, StreamEvents, StreamFailure } from '../wire/http2/http2-stream.ts';
import type { DescMethod, Message } from '../wire/protobuf/descriptor.ts';
import { DriverAnswer } from './driver-answer.ts';
import type { FieldPool } from './field-pool.ts';
import { OnwardCall } from './onward-call.ts';
import type { ProxiedAnswer, ProxiedCall, ProxyCaller, ProxyInterceptor } from './proxy-interceptor.ts';
import { readMessages } from './read-messages.ts';

export interface ForwardedCallOptions {
  connection: Http2Connection;
  stream: Http2Stream;
  /** The caller's number; see ProxyCaller. */
  connectionNumber: number;
  channel: Channel;
  interceptors: readonly ProxyInterceptor[];
  /** Of a request or an answer that is held for the interceptors. */
  maxHeldBytes: number;
  /** The driver's, in messages. */
  address: string;
  pool: FieldPool;
  clock: Clock;
  log: Log;
  /** Once, when the caller has its answer or has given up. */
  onOver(): void;
}

export class ForwardedCall implements StreamEvents, ProxiedCall {
  readonly #options: ForwardedCallOptions;
  #fields: readonly string[] | undefined;
  #startMs = 0;
  #path = '';
  #method: DescMethod | undefined;
  /** The request as far as it has come, if it is held. */
  readonly #body: Buffer[] = [];
  #bodyBytes = 0;
  /** Decided with the headers: request and answer are held for the interceptors. */
  #isHeld = false;
  readonly #onward = new Set<OnwardCall>();
  /** The one call that gets the request as it comes, and what came before there was one. */
  #passing: OnwardCall | undefined;
  #waiting: { bytes: Buffer; isEnd: boolean }[] = [];
  #hasHead = false;
  #isOver = false;
  #request: { readonly decoded: Message | undefined } | undefined;
  #controller: AbortController | undefined;

  constructor(options: ForwardedCallOptions) {
    this.#options = options;
  }

  get path(): string {
    return this.#path;
  }

  get method(): DescMethod | undefined {
    return this.#method;
  }

  get request(): Message | undefined {
    if (this.#request === undefined) {
      const messages = this.#method ? readMessages(this.#method.input, this.#body) : [];
      this.#request = { decoded: messages.length === 1 ? messages[0] : undefined };
    }
    return this.#request.decoded;
  }

  get requestBytes(): number {
    return this.#bodyBytes;
  }

  get caller(): ProxyCaller {
    return { connection: this.#options.connectionNumber, agent: this.#field('user-agent') ?? '' };
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isOver) this.#controller.abort();
    return this.#controller.signal;
  }

  disconnect(): void {
    this.#options.connection.destroy();
  }

  headers(fields: readonly string[], { isEnd, isTooLong }: { isEnd: boolean; isTooLong: boolean }): void {
    if (this.#isOver) return;
    // The trailers of a request have no meaning in gRPC.
    if (this.#fields) {
      this.data(Buffer.alloc(0), isEnd);
      return;
    }
    this.#fields = fields;
    if (isTooLong) {
      const text = 'the headers of the request are too long';
      this.#answer({ code: grpcCodes.RESOURCE_EXHAUSTED, text });
      return;
    }
    this.#startMs = this.#options.clock.monotonicMs();
    this.#path = this.#field(':path') ?? '';
    const { interceptors } = this.#options;
    if (interceptors.length === 0) this.#passing = this.#send((answer) => this.#deliver(answer), false);
    else {
      this.#method = csiMethodAt(this.#path);
      this.#isHeld = this.#method !== undefined;
      if (!this.#isHeld) void this.#intercept();
    }
    if (isEnd) this.data(Buffer.alloc(0), true);
  }

  data(bytes: Buffer, isEnd: boolean): void {
    if (this.#isOver) return;
    const { connection, stream, maxHeldBytes } = this.#options;
    if (!this.#isHeld) {
      if (this.#passing) this.#passing.pass(bytes, isEnd, () => connection.grant(stream, bytes.length));
      else this.#waiting.push({ bytes, isEnd });
      return;
    }
    this.#body.push(bytes);
    this.#bodyBytes += bytes.length;
    connection.grant(stream, bytes.length);
    if (this.#bodyBytes > maxHeldBytes) {
      const text = `the request is longer than ${maxHeldBytes} bytes, which the proxy does not hold`;
      this.#answer({ code: grpcCodes.RESOURCE_EXHAUSTED, text });
    } else if (isEnd) void this.#intercept();
  }

  aborted(_why: StreamFailure): void {
    if (this.#isOver) return;
    this.#over();
    const why: StreamFailure = { kind: 'reset', code: ErrorCode.CANCEL, text: 'the caller gave up' };
    for (const call of this.#onward) call.giveUp(why);
  }

  async #intercept(): Promise<void> {
    const { interceptors, log } = this.#options;
    // The answer of a stream cannot be held: nobody knows how long it is.
    const isPassed = this.#method?.methodKind !== 'unary';
    let isSent = false;
    const forward = (): Promise<ProxiedAnswer> => {
      if (isPassed && isSent)
        throw new Error(`${this.#path} is passed on as it comes and cannot be sent twice`);
      isSent = true;
      return new Promise((resolve) => {
        const call = this.#send(resolve, !isPassed);
        if (!this.#isHeld) this.#passAsItComes(call);
        else for (const [at, bytes] of this.#body.entries()) call.pass(bytes, at === this.#body.length - 1);
      });
    };
    const chain = interceptors.reduceRight<() => Promise<ProxiedAnswer>>(
      (next, interceptor) => async () => interceptor(this, next),
      forward,
    );
    try {
      const answer = await chain();
      if (answer instanceof DriverAnswer) this.#deliver(answer);
      else this.#answer(answer);
    } catch (error) {
      if (error instanceof CsiError) {
        this.#answer({ code: error.rawCode, text: error.description, details: error.details });
      } else if (!this.#isOver) {
        log.error('an interceptor of the proxy failed; answering INTERNAL', error, { method: this.#path });
        this.#answer({ code: grpcCodes.INTERNAL, text: 'the proxy failed; its log tells why' });
      }
    }
  }

  #passAsItComes(call: OnwardCall): void {
    this.#passing = call;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { bytes, isEnd } of waiting) this.data(bytes, isEnd);
  }

  #send(onEnd: (answer: DriverAnswer) => void, isHeld: boolean): OnwardCall {
    const { connection, stream, channel, maxHeldBytes, pool, address } = this.#options;
    const answer = new DriverAnswer({
      schema: this.#method?.output,
      maxBytes: maxHeldBytes,
      passTo: isHeld
        ? undefined
        : {
            head: (fields) => this.#sendHead(pool.headers(fields)),
            data: (bytes) => connection.passData(stream, bytes, false, () => call.grant(bytes.length)),
          },
      onHeld: (bytes) => call.grant(bytes),
      onRefused: (why) => call.giveUp(why),
      onEnd: (ended) => {
        this.#onward.delete(call);
        onEnd(ended);
      },
    });
    const call = new OnwardCall({ head: () => this.#onwardHead(), address, answer });
    this.#onward.add(call);
    channel.start(call);
    return call;
  }

  /** The deadline is shortened by the time that the call has waited here. */
  #onwardHead(): Headers {
    const { pool, clock } = this.#options;
    const fields = this.#fields ?? [];
    const heldMs = clock.monotonicMs() - this.#startMs;
    const at = fields.indexOf('grpc-timeout');
    const timeoutMs = at % 2 === 0 ? parseTimeout(fields[at + 1] as string) : undefined;
    if (heldMs < 1 || timeoutMs === undefined) return pool.headers(fields);
    return pool.headers(fields.with(at + 1, formatTimeout(timeoutMs - heldMs)));
  }

  #deliver(answer: DriverAnswer): void {
    if (this.#isOver) return;
    const { head, body, trailers, failure } = answer;
    if (failure) {
      this.#answer({ code: answer.code, text: answer.text });
      return;
    }
    const { connection, stream, pool } = this.#options;
    if (head) this.#sendHead(pool.headers(head));
    for (const bytes of body) connection.passData(stream, bytes, false);
    if (trailers) connection.sendHeaders(stream, { ...pool.headers(trailers), isEnd: true });
    else connection.passData(stream, Buffer.alloc(0), true);
    this.#over();
  }

  #answer(status: AnswerStatus): void {
    if (this.#isOver) return;
    const { connection, stream } = this.#options;
    const { known, once } = statusHeaders(status);
    const head = this.#hasHead ? [] : [httpOk, contentType];
    connection.sendHeaders(stream, { known: [...head, ...known], once, isEnd: true });
    this.#over();
  }

  #sendHead(headers: Headers): void {
    this.#hasHead = true;
    this.#options.connection.sendHeaders(this.#options.stream, headers);
  }

  #over(): void {
    this.#isOver = true;
    const { connection, stream } = this.#options;
    // What is left of a request that was answered before its end is not wanted.
    if (!stream.isRemoteEnded && stream.unsent.length === 0) connection.reset(stream, ErrorCode.NO_ERROR);
    this.#controller?.abort(new Error('the call is over'));
    this.#options.onOver();
  }

  #field(name: string): string | undefined {
    const fields = this.#fields ?? [];
    for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) return fields[at + 1];
    return undefined;
  }
}
