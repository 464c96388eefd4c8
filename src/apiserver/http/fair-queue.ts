// Fair queuing of work between clients. The event loop has one thread, so a client with many requests would delay all
// others: work is done in steps, and clients take turns by the CPU time of their steps (deficit round robin, idle
// clients first, as in fq_codel). Between turns the event loop handles new input. While nothing waits, work is done at
// once.

import type { Clock } from '../../runtime/ports.ts';
import { tooManyRequests } from '../verbs/status.ts';

/** The quantum of a client's turn, and the total before the event loop continues. */
const TURN_MS = 2;
/** Work that is not finished after this ends the turn: what is expensive yields, small requests are done together. */
const SLICE_MS = 1;
/** Queue length of one client. About kube-apiserver's limit for one flow. */
const MAX_WAITING = 512;

/** Work in steps: at each `yield` other clients may go first. */
export type Steps<T> = Generator<void, T, void>;

interface Job {
  readonly steps: Steps<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Flow {
  readonly client: string;
  readonly jobs: Job[];
  /** Time left in its turn; negative after a long step, which is deducted from its next turns. */
  creditMs: number;
}

export class FairQueue {
  readonly #clock: Clock;
  readonly #flows = new Map<string, Flow>();
  /** A flow that was idle: first in line, for one turn. */
  readonly #fresh: Flow[] = [];
  readonly #busy: Flow[] = [];
  #waiting = 0;
  #isScheduled = false;
  /** Time used without queuing in this turn of the event loop. */
  #takenMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Rejects with 429 when too much of this client's work is waiting, unless it continues admitted work. */
  run<T>(client: string, work: () => Steps<T>, { goesOn = false } = {}): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const job: Job = { steps: work(), resolve: resolve as Job['resolve'], reject };
    if (this.#waiting === 0 && this.#takenMs < TURN_MS) {
      if (this.#runAtOnce(job)) return promise;
    } else if (!goesOn && (this.#flows.get(client)?.jobs.length ?? 0) >= MAX_WAITING) {
      reject(tooManyRequests('this client has too many requests waiting'));
      return promise;
    }
    this.#enqueue(client, job);
    return promise;
  }

  /** The same for work of one step. */
  once<T>(client: string, work: () => T | Promise<T>, options: { goesOn?: boolean } = {}): Promise<T> {
    // biome-ignore lint/correctness/useYield: one step.
    const steps = function* () {
      return work();
    };
    return this.run(client, steps, options) as Promise<T>;
  }

  #runAtOnce(job: Job): boolean {
    const startMs = this.#clock.monotonicMs();
    const isDone = this.#advance(job, startMs + Math.min(SLICE_MS, TURN_MS - this.#takenMs));
    this.#takenMs += this.#clock.monotonicMs() - startMs;
    this.#schedule();
    return isDone;
  }

  #enqueue(client: string, job: Job): void {
    let flow = this.#flows.get(client);
    if (flow === undefined) {
      flow = { client, jobs: [], creditMs: TURN_MS };
      this.#flows.set(client, flow);
      this.#fresh.push(flow);
    }
    flow.jobs.push(job);
    this.#waiting++;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    this.#takenMs = 0;
    const endMs = this.#clock.monotonicMs() + TURN_MS;
    while (this.#waiting > 0) {
      const isDone = this.#serve(this.#next(), endMs);
      if (!isDone || this.#clock.monotonicMs() >= endMs) break;
    }
    if (this.#waiting > 0) this.#schedule();
  }

  /** The flow whose turn it is, which stays first in its list. There is one, because work is waiting. */
  #next(): Flow {
    for (;;) {
      const list = this.#fresh.length > 0 ? this.#fresh : this.#busy;
      const flow = list[0] as Flow;
      if (flow.creditMs > 0 && flow.jobs.length > 0) return flow;
      list.shift();
      // A flow whose queue became empty while it was new waits a round with the others before it can be new again.
      if (flow.creditMs > 0 && list === this.#busy) this.#flows.delete(flow.client);
      else this.#busy.push(flow);
      if (flow.creditMs <= 0) flow.creditMs += TURN_MS;
    }
  }

  /** False: the job has steps left. */
  #serve(flow: Flow, endMs: number): boolean {
    const job = flow.jobs.shift() as Job;
    const startMs = this.#clock.monotonicMs();
    this.#waiting--;
    const isDone = this.#advance(job, Math.min(startMs + Math.min(SLICE_MS, flow.creditMs), endMs));
    if (!isDone) {
      flow.jobs.push(job);
      this.#waiting++;
    }
    flow.creditMs -= this.#clock.monotonicMs() - startMs;
    return isDone;
  }

  /** Runs steps until the deadline; true when none are left. */
  #advance({ steps, resolve, reject }: Job, untilMs: number): boolean {
    try {
      do {
        const { done, value } = steps.next();
        if (done) {
          resolve(value);
          return true;
        }
      } while (this.#clock.monotonicMs() < untilMs);
      return false;
    } catch (error) {
      reject(error);
      return true;
    }
  }
}
