// Sends one request until it has its final answer: waits for the limiter, adds credentials, repeats what the server
// says it did not do (429, or a push-back with Retry-After where repeating is harmless), renews credentials once on
// 401. Every failure leaves as a KubeError; an abort as the signal's reason.

import { constants } from 'node:buffer';
import type { RequestHeaders } from '../../wire/http1/request-text.ts';
import type { Clock, Log, Random } from '../ports.ts';
import {
  type Attempt,
  badAnswer,
  errorFromAnswer,
  errorFromFailure,
  retryAfterSeconds,
} from './answer-error.ts';
import { type Brief, BriefWrites, isProtobuf, PROTOBUF } from './brief-writes.ts';
import type { ClientMetrics } from './client-metrics.ts';
import type { CredentialSource } from './credentials.ts';
import type { HttpAnswer, HttpRequest, HttpTransport, StreamSink } from './http-transport.ts';
import { KubeConfigError } from './kube-config.ts';
import { KubeError } from './kube-error.ts';
import type { Limiter, RequestEnd, RequestKind } from './limiter.ts';

export interface RequesterPorts {
  transport: HttpTransport;
  credentials: CredentialSource;
  limiter: Limiter;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: ClientMetrics;
  host: string;
  source: string;
  basePath: string;
  userAgent: string;
  /** Called right before a write is sent, each time; what it throws is the request's error. */
  beforeWrite?: (() => void) | undefined;
}

export interface KubeRequest {
  readonly method: HttpRequest['method'];
  /** With query. */
  readonly path: string;
  readonly kind: RequestKind;
  readonly body?: unknown;
  readonly contentType?: string;
  /** `application/json` unless told; the answer must be JSON in any case. */
  readonly accept?: string;
  /** Reads the body of a 2xx answer, instead of `JSON.parse`. What it throws means that the body is no JSON. */
  readonly read?: ((body: Buffer) => Promise<unknown>) | undefined;
  /** Not all of the answer is wanted. */
  readonly brief?: Brief | undefined;
  /** Doing it twice leaves the same state as doing it once. */
  readonly repeatable: boolean;
  readonly signal?: AbortSignal;
}

/** The longest body: V8's limit for a string. */
const MAX_LIST_BYTES = constants.MAX_STRING_LENGTH;
/** As client-go. */
const MAX_RETRIES = 10;
/** A longer Retry-After is left to the caller's own backoff. */
const MAX_RETRY_AFTER_SECONDS = 30;

export class Requester {
  readonly #ports: RequesterPorts;
  readonly #brief = new BriefWrites();
  #credentials: RequestHeaders | undefined;
  readonly #headersByKind = new Map<string, RequestHeaders>();

  constructor(ports: RequesterPorts) {
    this.#ports = ports;
  }

  /** The parsed JSON of a 2xx answer. */
  async send(request: KubeRequest): Promise<unknown> {
    const { limiter } = this.#ports;
    const attempt = this.attempt(request);
    for (let tries = 0, renewed = false, reconnected = false; ; tries++) {
      const leave = await limiter.enter(request.kind, request.signal);
      let end: RequestEnd = { kind: 'unknown' };
      let answer: HttpAnswer & { body: Buffer };
      try {
        answer = await this.#once(request);
        end = { kind: isPushBack(answer) ? 'pushedBack' : 'answered' };
      } catch (error) {
        if (request.signal?.aborted) throw request.signal.reason;
        // The server closed a kept-alive connection while the request was sent: retry on a new one.
        if (request.method === 'GET' && !reconnected && isReset(error)) {
          reconnected = true;
          continue;
        }
        throw this.#failure(error, attempt);
      } finally {
        leave(end);
      }
      if (answer.status === 401 && !renewed && this.#ports.credentials.refused()) {
        renewed = true;
        continue;
      }
      if (answer.status === 415 && request.brief && this.#brief.refused()) continue;
      const delayMs = this.#retryDelay(answer, request.repeatable, tries);
      if (delayMs === undefined) {
        if (isProtobuf(answer)) return this.#readBrief(answer, request, attempt);
        return request.read === undefined || !isGood(answer)
          ? this.#read(answer, attempt)
          : request.read(answer.body).catch(() => Promise.reject(badAnswer(answer, attempt)));
      }
      await this.#waitToRetry(attempt, answer, delayMs, request.signal);
    }
  }

  /** Opens a stream. Streams are not repeated here: whoever follows one decides from where to go on. */
  async open(request: KubeRequest, sink: StreamSink): Promise<(reason: Error) => void> {
    const { credentials, limiter, transport } = this.#ports;
    await limiter.pace(request.signal);
    try {
      const { headers, tls } = await credentials.current();
      request.signal?.throwIfAborted();
      return transport.stream(this.#http(request, headers, tls), sink);
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      throw this.#failure(error, this.attempt(request));
    }
  }

  attempt(request: { method: string; path: string }): Attempt {
    const { host, source } = this.#ports;
    return { what: `${request.method} ${request.path.split('?')[0]}`, host, source };
  }

  credentialsRefused(): void {
    this.#ports.credentials.refused();
  }

  async #once(request: KubeRequest): Promise<HttpAnswer & { body: Buffer }> {
    const { clock, credentials, host, metrics, transport, beforeWrite } = this.#ports;
    const { headers, tls } = await credentials.current();
    if (request.kind === 'write') beforeWrite?.();
    const startedMs = clock.monotonicMs();
    const answer = await transport.request(this.#http(request, headers, tls));
    const seconds = (clock.monotonicMs() - startedMs) / 1000;
    metrics?.answered({ verb: request.method, host, code: answer.status, seconds });
    return answer;
  }

  #http(request: KubeRequest, credentials: RequestHeaders, tls: HttpRequest['tls']): HttpRequest {
    const { basePath } = this.#ports;
    const { brief, signal } = request;
    const encoded = brief && this.#brief.encode(brief, request.body);
    const contentType = encoded === undefined ? (request.contentType ?? 'application/json') : PROTOBUF;
    const json = encoded ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    return {
      method: request.method,
      path: `${basePath}${request.path}`,
      headers: this.#headers(
        credentials,
        brief ? BriefWrites.accept : (request.accept ?? 'application/json'),
        json === undefined ? undefined : contentType,
      ),
      ...(json === undefined ? {} : { body: json }),
      ...(encoded === undefined ? {} : { bodyEncoding: 'latin1' as const }),
      tls,
      ...(signal === undefined ? {} : { signal }),
      ...(request.kind === 'list' ? { maxBodyBytes: MAX_LIST_BYTES } : {}),
    };
  }

  /** The same object for the same values, so that its text is made once. */
  #headers(credentials: RequestHeaders, accept: string, contentType: string | undefined): RequestHeaders {
    if (this.#credentials !== credentials) {
      this.#credentials = credentials;
      this.#headersByKind.clear();
    }
    const kind = `${accept}\n${contentType}`;
    let headers = this.#headersByKind.get(kind);
    if (headers === undefined) {
      const body = contentType === undefined ? {} : { 'content-type': contentType };
      headers = { accept, 'user-agent': this.#ports.userAgent, ...body, ...credentials };
      this.#headersByKind.set(kind, headers);
    }
    return headers;
  }

  #retryDelay(answer: HttpAnswer, repeatable: boolean, tries: number): number | undefined {
    if (tries >= MAX_RETRIES || !isPushBack(answer)) return undefined;
    // 429 means the request was not begun, so that any request may be repeated.
    if (answer.status !== 429 && !repeatable) return undefined;
    const seconds = retryAfterSeconds(answer.headers) ?? 0;
    if (seconds > MAX_RETRY_AFTER_SECONDS) return undefined;
    // Jitter, so that requests rejected together are not retried together.
    return seconds * 1000 * (1 + 0.2 * this.#ports.random.next());
  }

  async #waitToRetry(
    attempt: Attempt,
    answer: HttpAnswer,
    delayMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const fields = { request: attempt.what, status: answer.status, delayMs: Math.round(delayMs) };
    this.#ports.log.v(3).info('the server asks to come back later', fields);
    await this.#ports.clock.sleep(delayMs, signal);
  }

  #read(answer: HttpAnswer & { body: Buffer }, attempt: Attempt): unknown {
    if (!isGood(answer)) throw errorFromAnswer(answer, attempt);
    try {
      return JSON.parse(answer.body.toString('utf8'));
    } catch {
      throw badAnswer(answer, attempt);
    }
  }

  async #readBrief(
    answer: HttpAnswer & { body: Buffer },
    request: KubeRequest,
    attempt: Attempt,
  ): Promise<unknown> {
    if (isGood(answer)) return this.#brief.written(request, answer, attempt);
    throw errorFromAnswer(await this.#brief.asJson(answer, attempt), attempt);
  }

  #failure(error: unknown, attempt: Attempt): Error {
    if (error instanceof KubeConfigError) {
      return new KubeError({ reason: 'Unauthorized', code: 0, message: `${attempt.what}: ${error.message}` });
    }
    return errorFromFailure(error, attempt);
  }
}

function isGood({ status }: HttpAnswer): boolean {
  return status >= 200 && status <= 299;
}

function isPushBack(answer: HttpAnswer): boolean {
  const refused = answer.status === 429 || (answer.status >= 500 && answer.status <= 599);
  return refused && retryAfterSeconds(answer.headers) !== undefined;
}

function isReset(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'HTTP_CLOSED' || code === 'ECONNRESET' || code === 'EPIPE';
}
