// One watch over HTTP as an async iteration. Ends when the server closes it properly; throws a KubeError when the
// connection breaks, falls silent, carries garbage or an ERROR event. Guarantee: leaving the iteration, or an abort,
// closes the connection.

import type { KubeObject } from '../../api/object.ts';
import type { WatchEvent } from '../kube.ts';
import { KubeError } from '../kube-error.ts';
import type { Clock, Timer } from '../ports.ts';
import { type Attempt, errorFromAnswer, errorFromFailure } from './answer-error.ts';
import type { HttpAnswer, StreamSink } from './http-transport.ts';
import type { KubeRequest, Requester } from './requester.ts';
import { LineSplitter, parseWatchLine } from './watch-stream.ts';

/** A server ends a watch at its time-out; one that is silent this much longer has lost the connection. */
const GRACE_MS = 30_000;
/** Bytes waiting for a slow reader before the connection is told to wait. */
const PAUSE_BYTES = 8 << 20;

export async function* openWatch<T extends KubeObject>(options: {
  requester: Requester;
  clock: Clock;
  request: KubeRequest;
  timeoutSeconds: number;
  type: { apiVersion: string; kind: string };
}): AsyncGenerator<WatchEvent<T>> {
  const { requester, request } = options;
  const attempt = requester.attempt(request);
  const inbox = new Inbox(attempt, options.clock, options.timeoutSeconds * 1000 + GRACE_MS);
  const breakOff = await requester.open(request, inbox);
  const onAbort = (): void => inbox.abort(request.signal?.reason);
  request.signal?.addEventListener('abort', onAbort, { once: true });
  try {
    yield* events<T>(inbox, attempt, options.type);
  } catch (error) {
    if (error instanceof KubeError && error.code === 401) requester.credentialsRefused();
    throw error;
  } finally {
    request.signal?.removeEventListener('abort', onAbort);
    inbox.close();
    breakOff(new Error('the watch is no longer read'));
  }
}

async function* events<T extends KubeObject>(
  inbox: Inbox,
  attempt: Attempt,
  type: { apiVersion: string; kind: string },
): AsyncGenerator<WatchEvent<T>> {
  const lines = new LineSplitter();
  for (let chunk = await inbox.next(); chunk !== undefined; chunk = await inbox.next()) {
    for (const line of lines.push(chunk)) {
      const parsed = parseWatchLine<T>(line, type);
      if (parsed.kind === 'error') throw parsed.error;
      if (parsed.kind === 'garbage') throw garbage(attempt, line.length);
      yield parsed.event;
    }
  }
  const rest = lines.remainder;
  if (rest.length === 0) return;
  // A last line without its newline is whole when it parses; otherwise the connection broke within it.
  const last = parseWatchLine<T>(rest, type);
  if (last.kind === 'error') throw last.error;
  if (last.kind === 'garbage') throw cutOff(attempt);
  yield last.event;
}

function garbage(attempt: Attempt, bytes: number): KubeError {
  return new KubeError({
    reason: 'BadAnswer',
    code: 200,
    message: `${attempt.what}: ${attempt.host} sent a line of ${bytes} bytes that is no watch event`,
  });
}

function cutOff(attempt: Attempt): KubeError {
  return new KubeError({
    reason: 'Unreachable',
    code: 0,
    message: `${attempt.what}: the connection to ${attempt.host} ended in the middle of a watch event`,
  });
}

/** Chunks from the connection, waiting for the reader. */
class Inbox implements StreamSink {
  readonly #attempt: Attempt;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #read = 0;
  #over: { error?: unknown } | undefined;
  #wake: (() => void) | undefined;
  #flow: { pause(): void; resume(): void } | undefined;
  #paused = false;
  #refusal: HttpAnswer | undefined;
  #alarm: Timer;
  #heardMs: number;

  constructor(attempt: Attempt, clock: Clock, silenceMs: number) {
    this.#attempt = attempt;
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    this.#heardMs = clock.monotonicMs();
    this.#alarm = clock.setTimeout(() => this.#checkSilence(), silenceMs);
  }

  started(answer: HttpAnswer, flow: { pause(): void; resume(): void }): void {
    this.#flow = flow;
    this.#heardMs = this.#clock.monotonicMs();
    if (answer.status !== 200) this.#refusal = answer;
  }

  chunk(bytes: Buffer): void {
    this.#heardMs = this.#clock.monotonicMs();
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > PAUSE_BYTES && !this.#paused && this.#refusal === undefined) {
      this.#paused = true;
      this.#flow?.pause();
    }
    if (this.#refusal === undefined) this.#awake();
  }

  ended(): void {
    if (this.#refusal === undefined) {
      this.#finish({});
      return;
    }
    const body = Buffer.concat(this.#chunks);
    this.#chunks.length = 0;
    this.#finish({ error: errorFromAnswer({ ...this.#refusal, body }, this.#attempt) });
  }

  failed(error: Error): void {
    if (this.#refusal !== undefined) this.ended();
    else this.#finish({ error: errorFromFailure(error, this.#attempt) });
  }

  abort(reason: unknown): void {
    this.#chunks.length = 0;
    this.#finish({ error: reason });
  }

  close(): void {
    this.#finish({});
  }

  /** Undefined at the proper end; what arrived before a failure is handed out before the failure is thrown. */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const chunk = this.#refusal === undefined ? this.#take() : undefined;
      if (chunk !== undefined) return chunk;
      if (this.#over !== undefined) {
        if ('error' in this.#over) throw this.#over.error;
        return undefined;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(): Buffer | undefined {
    const chunk = this.#chunks[this.#read];
    if (chunk === undefined) {
      this.#chunks.length = 0;
      this.#read = 0;
      return undefined;
    }
    this.#read++;
    this.#bytes -= chunk.length;
    if (this.#paused && this.#bytes <= PAUSE_BYTES / 2) {
      this.#paused = false;
      this.#flow?.resume();
    }
    return chunk;
  }

  #checkSilence(): void {
    const silentMs = this.#clock.monotonicMs() - this.#heardMs;
    if (silentMs < this.#silenceMs && !this.#paused) {
      this.#alarm = this.#clock.setTimeout(() => this.#checkSilence(), this.#silenceMs - silentMs);
      return;
    }
    if (this.#paused) {
      this.#alarm = this.#clock.setTimeout(() => this.#checkSilence(), this.#silenceMs);
      return;
    }
    this.#finish({
      error: new KubeError({
        reason: 'Unreachable',
        code: 0,
        message: `${this.#attempt.what}: ${this.#attempt.host} has been silent for ${Math.round(silentMs / 1000)} s, longer than the watch was to last`,
      }),
    });
  }

  #finish(over: { error?: unknown }): void {
    this.#alarm.cancel();
    this.#over ??= over;
    this.#awake();
  }

  #awake(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
