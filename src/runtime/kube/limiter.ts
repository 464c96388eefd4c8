// Limits how many requests are under way. Without settings the limit adapts (additive increase, multiplicative decrease):
// it grows while latency stays low, and shrinks when the server slows down or answers 429. With `qps` and `burst`
// a token bucket comes before it, as in client-go. Watches do not count: they are long and cost the server little.

import { TokenBucket } from '../../wire/token-bucket.ts';
import type { Clock } from '../ports.ts';

export interface LimiterOptions {
  clock: Clock;
  /** Requests per second; absent: no such limit. */
  qps?: number;
  burst?: number;
}

/** Kinds of requests whose latency can be compared with each other; a list's depends on what it lists. */
export type RequestKind = 'read' | 'write' | 'list';

export type RequestEnd =
  | { kind: 'answered' }
  /** 429, or 503 that says when to come back. */
  | { kind: 'pushedBack' }
  /** Nothing learned: aborted, or no connection. */
  | { kind: 'unknown' };

const START = 16;
const MIN = 4;
const MAX = 256;
/** Above this multiple of the best recent latency the server is queueing. */
const SLOW_FACTOR = 4;
/** Up to this multiple the limit may grow. In between it stays: more requests would only queue. */
const SWIFT_FACTOR = 2;
/** Latencies below this are always fast. */
const SWIFT_FLOOR_MS = 10;
/** Latencies below this are noise and never count as slow. */
const SLOW_FLOOR_MS = 100;
/** Half-life of the best latency, so that changes of the server or the network are learned. */
const BASELINE_HALF_LIFE_MS = 60_000;

export class Limiter {
  readonly #clock: Clock;
  /** Undefined without `qps`. */
  readonly #bucket: TokenBucket | undefined;
  /** First in, first out; `undefined` where somebody gave up. What lies before `#head` has been admitted. */
  #waiting: ((() => void) | undefined)[] = [];
  #head = 0;
  #everCut = false;
  #limit = START;
  #underWay = 0;
  readonly #baselines: Record<'read' | 'write', { ms: number; atMs: number }> = {
    read: { ms: Number.POSITIVE_INFINITY, atMs: 0 },
    write: { ms: Number.POSITIVE_INFINITY, atMs: 0 },
  };
  #lastCutMs = Number.NEGATIVE_INFINITY;

  constructor(options: LimiterOptions) {
    this.#clock = options.clock;
    const { clock, qps = 0, burst = 10 } = options;
    if (qps > 0) this.#bucket = new TokenBucket({ clock, burst: Math.max(1, burst), perSecond: qps });
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Resolves when the request may go; call the result when it ended. Rejects with the signal's reason. */
  async enter(kind: RequestKind, signal?: AbortSignal): Promise<(end: RequestEnd) => void> {
    signal?.throwIfAborted();
    if (this.#bucket !== undefined) await this.pace(signal);
    if (this.#underWay >= this.limit) await this.#queue(signal);
    else this.#underWay++;
    const startedMs = this.#clock.monotonicMs();
    const wasFull = this.#underWay >= this.limit;
    let left = false;
    return (end) => {
      if (left) return;
      left = true;
      this.#underWay--;
      this.#learn(end, kind, this.#clock.monotonicMs() - startedMs, wasFull);
      this.#admit();
    };
  }

  /** Waits as long as the bucket asks for; 0 without qps. */
  async pace(signal?: AbortSignal): Promise<void> {
    const delayMs = this.#bucket?.reserve() ?? 0;
    if (delayMs > 0) await this.#clock.sleep(delayMs, signal);
  }

  #queue(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        const index = this.#waiting.indexOf(admit, this.#head);
        if (index >= 0) this.#waiting[index] = undefined;
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(admit);
    });
  }

  #admit(): void {
    while (this.#underWay < this.limit && this.#head < this.#waiting.length) {
      const admit = this.#waiting[this.#head++];
      if (admit === undefined) continue;
      this.#underWay++;
      admit();
    }
    // In large steps: taking off the first of many moves all the others.
    if (this.#head > 1024 || this.#head === this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
  }

  #learn(end: RequestEnd, kind: RequestKind, tookMs: number, wasFull: boolean): void {
    if (end.kind === 'unknown') return;
    if (end.kind === 'pushedBack') {
      this.#cut(0.5);
      return;
    }
    if (kind !== 'list') {
      const baselineMs = this.#baseline(kind, tookMs);
      if (tookMs > Math.max(SLOW_FLOOR_MS, baselineMs * SLOW_FACTOR)) {
        this.#cut(0.9);
        return;
      }
      if (tookMs > Math.max(SWIFT_FLOOR_MS, baselineMs * SWIFT_FACTOR)) return;
    }
    // Only a limit that was reached is raised: otherwise nothing was learned about a higher one. Slow start: until the
    // first cut the limit doubles per round trip, then it grows by one.
    if (wasFull) this.#limit = Math.min(MAX, this.#limit + (this.#everCut ? 1 / this.#limit : 1));
  }

  /** The best latency of this kind lately, this one included. */
  #baseline(kind: 'read' | 'write', tookMs: number): number {
    const known = this.#baselines[kind];
    const nowMs = this.#clock.monotonicMs();
    const faded = known.ms * 2 ** ((nowMs - known.atMs) / BASELINE_HALF_LIFE_MS);
    known.ms = Math.min(faded, Math.max(tookMs, 1));
    known.atMs = nowMs;
    return known.ms;
  }

  /** At most one cut a second: requests in flight report the same slowness many times. */
  #cut(factor: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastCutMs < 1000) return;
    this.#lastCutMs = nowMs;
    this.#everCut = true;
    this.#limit = Math.max(MIN, this.#limit * factor);
  }
}
