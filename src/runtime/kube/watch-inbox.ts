// Buffer between a watch's connection and its reader: in order, with backpressure and a time-out for silence. Every way in
// which a stream can end becomes one result of `next`.

import type { Clock, Timer } from '../ports.ts';
import { type Attempt, errorFromAnswer, errorFromFailure } from './answer-error.ts';
import type { HttpAnswer, StreamSink } from './http-transport.ts';
import { KubeError } from './kube-error.ts';

/** Bytes waiting for a slow reader before the connection is told to wait. */
const PAUSE_BYTES = 8 << 20;
/** Overhead per chunk: a chunk may hold a single byte. */
const CHUNK_COST_BYTES = 128;
/** Of a refusal's body. A Status has a few hundred. */
const MAX_REFUSAL_BYTES = 1 << 20;

/** Chunks from the connection, waiting for the reader. */
export class WatchInbox implements StreamSink {
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
    if (this.#over !== undefined) return;
    this.#heardMs = this.#clock.monotonicMs();
    this.#chunks.push(bytes);
    this.#bytes += bytes.length + CHUNK_COST_BYTES;
    if (this.#bytes > PAUSE_BYTES && !this.#paused && this.#refusal === undefined) {
      this.#paused = true;
      this.#flow?.pause();
    }
    if (this.#refusal === undefined) this.#awake();
    else if (this.#bytes > MAX_REFUSAL_BYTES) this.ended();
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
    this.#bytes -= chunk.length + CHUNK_COST_BYTES;
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
