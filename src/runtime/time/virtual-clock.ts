// Virtual time: it moves only when told to. Timers fire in order of time, then of insertion. After each timer, all promise
// chains and virtual immediates that it started run to completion before the next one fires.
//
// A step schedules the next one with process.nextTick from within a microtask; Node runs that only when the microtask queue
// is empty. As long as the code does no real I/O, a run is therefore exactly repeatable.

import type { Clock, Timer } from '../ports.ts';
import { sleepOn } from './sleep-on.ts';
import { type HeapEntry, TimerHeap } from './timer-heap.ts';

/** Steps before the event loop handles sockets, signals and real timers. */
const STEPS_PER_TURN = 256;

/** An awaited promise can no longer settle: no timer is left and nothing is queued. */
export class VirtualDeadlockError extends Error {
  override readonly name = 'VirtualDeadlockError';
}

/** The awaited condition did not hold within the virtual time limit. */
export class VirtualTimeLimitError extends Error {
  override readonly name = 'VirtualTimeLimitError';
}

/** A busy loop: code keeps running without waiting, so virtual time cannot pass. */
export class VirtualLivelockError extends Error {
  override readonly name = 'VirtualLivelockError';
}

/** Far more than any honest burst of work at one instant. */
const MOST_STEPS_AT_ONE_INSTANT = 20_000;

class VirtualTimer implements HeapEntry, Timer {
  readonly dueMs: number;
  readonly callback: () => void;
  readonly #heap: TimerHeap<VirtualTimer>;
  sequence = 0;
  index = -1;

  constructor(dueMs: number, callback: () => void, heap: TimerHeap<VirtualTimer>) {
    this.dueMs = dueMs;
    this.callback = callback;
    this.#heap = heap;
  }

  cancel(): void {
    this.#heap.remove(this);
  }
}

/** A resolved promise to schedule microtasks: `queueMicrotask` costs twice as much because of async hooks. */
const settled = Promise.resolve();

const neverReached = (): boolean => false;

export class VirtualClock implements Clock {
  readonly #timers = new TimerHeap<VirtualTimer>();
  #immediates: { callback: (() => void) | undefined }[] = [];
  #nextImmediate = 0;
  #monotonicMs = 0;
  #wallOffsetMs: number;
  #driving = false;
  #steps = 0;
  #stepsAtThisInstant = 0;

  constructor(options: { startMs?: number } = {}) {
    this.#wallOffsetMs = options.startMs ?? Date.UTC(2026, 0, 1);
  }

  now(): number {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  setTimeout(callback: () => void, delayMs: number): Timer {
    const dueMs = this.#monotonicMs + Math.max(0, delayMs || 0);
    const timer = new VirtualTimer(dueMs, callback, this.#timers);
    this.#timers.push(timer);
    return timer;
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  setImmediate(callback: () => void): Timer {
    const immediate: { callback: (() => void) | undefined } = { callback };
    this.#immediates.push(immediate);
    return {
      cancel: () => {
        immediate.callback = undefined;
      },
    };
  }

  /** Number of pending timers. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** The monotonic instant at which the next timer is due; undefined when none is set. */
  get nextTimerMs(): number | undefined {
    return this.#timers.peek()?.dueMs;
  }

  /** Makes the wall clock jump, as an operator or NTP does; timers and `monotonicMs` are not affected. */
  wallJump(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Fires everything due within the next `ms`, then stops at exactly that instant. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    await this.#drive(untilMs, neverReached);
    this.#monotonicMs = untilMs;
  }

  /** The same, but stops as soon as `isReached` returns true; it is checked after each step. */
  async advanceUnless(isReached: () => boolean, ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    await this.#drive(untilMs, isReached);
    if (!isReached()) this.#monotonicMs = untilMs;
  }

  /** Runs all queued work without moving time. */
  async settle(): Promise<void> {
    await this.advance(0);
  }

  /** Fires timers until none is left within `limitMs`; returns how far time moved. Periodic timers never end. */
  async runUntilIdle(limitMs: number): Promise<{ idle: boolean }> {
    const untilMs = this.#monotonicMs + limitMs;
    await this.#drive(untilMs, neverReached);
    return { idle: this.#timers.size === 0 };
  }

  /**
   * Moves time until the promise settles (and returns its value or throws its error), or until the predicate, checked
   * after each step, holds. Throws VirtualTimeLimitError after `limitMs`, and VirtualDeadlockError as soon as no timer
   * and no queued work is left.
   */
  async runUntil<T>(awaited: PromiseLike<T> | (() => boolean), limitMs: number): Promise<T | undefined> {
    const startedAtMs = this.#monotonicMs;
    const untilMs = startedAtMs + limitMs;
    let settled: { value: T } | { error: unknown } | undefined;
    if (typeof awaited !== 'function') {
      awaited.then(
        (value) => {
          settled = { value };
        },
        (error: unknown) => {
          settled = { error };
        },
      );
    }
    const reached = typeof awaited === 'function' ? awaited : () => settled !== undefined;
    let happened = false;
    await this.#drive(untilMs, () => {
      happened = reached();
      return happened;
    });
    if (!happened) {
      const passedMs = this.#monotonicMs - startedAtMs;
      if (this.#timers.size === 0) {
        throw new VirtualDeadlockError(
          `nothing can happen any more after ${passedMs} ms of virtual time: no timer is set, and what is awaited is still pending`,
        );
      }
      this.#monotonicMs = untilMs;
      throw new VirtualTimeLimitError(`what is awaited did not happen within ${limitMs} ms of virtual time`);
    }
    if (settled === undefined) return undefined;
    if ('error' in settled) throw settled.error;
    return settled.value;
  }

  /** Runs steps until the condition holds, or nothing is left up to that instant. */
  #drive(untilMs: number, isReached: () => boolean): Promise<void> {
    if (this.#driving) {
      throw new Error('the virtual clock is already being moved: await the earlier call first');
    }
    this.#driving = true;
    return new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#driving = false;
        settle();
      };
      const turn = () => {
        let moved: boolean;
        try {
          moved = !isReached() && this.#step(untilMs);
        } catch (error) {
          end(() => reject(error));
          return;
        }
        if (moved) arm();
        else end(resolve);
      };
      const atRest = () => process.nextTick(turn);
      const arm = () => {
        this.#steps = (this.#steps + 1) % STEPS_PER_TURN;
        if (this.#steps === 0) setImmediate(turn);
        else void settled.then(atRest);
      };
      arm();
    });
  }

  /** Runs the next immediate or timer; false when there is none up to `untilMs`. */
  #step(untilMs: number): boolean {
    while (this.#nextImmediate < this.#immediates.length) {
      const callback = this.#immediates[this.#nextImmediate++]?.callback;
      if (this.#nextImmediate === this.#immediates.length) {
        this.#immediates = [];
        this.#nextImmediate = 0;
      }
      if (callback === undefined) continue;
      this.#standStill();
      callback();
      return true;
    }
    const timer = this.#timers.peek();
    if (timer === undefined || timer.dueMs > untilMs) return false;
    this.#timers.pop();
    if (timer.dueMs > this.#monotonicMs) {
      this.#monotonicMs = timer.dueMs;
      this.#stepsAtThisInstant = 0;
    } else this.#standStill();
    timer.callback();
    return true;
  }

  #standStill(): void {
    this.#stepsAtThisInstant += 1;
    if (this.#stepsAtThisInstant <= MOST_STEPS_AT_ONE_INSTANT) return;
    throw new VirtualLivelockError(
      `${MOST_STEPS_AT_ONE_INSTANT} steps at ${this.#monotonicMs} ms of virtual time, and no end of it`,
    );
  }
}
