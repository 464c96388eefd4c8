// Which keys are to be worked on, and when. A key is in it once: running or not, and besides that due now, due later
// or not at all. Of two due times the earlier wins, and now is the earliest. Keys that are due come out in the order
// in which they became so; a key that is running does not come out again before it has ended.

import type { Clock, Timer } from '../ports.ts';
import { type HeapEntry, TimerHeap } from '../timer-heap.ts';
import { Fifo } from './fifo.ts';

export interface Item extends HeapEntry {
  readonly key: string;
  next: 'none' | 'ready' | 'delayed';
  running: boolean;
  /** When it became ready, or when its run began: monotonic. */
  sinceMs: number;
  /** Runs in a row that failed. */
  failures: number;
}

export interface QueueHooks {
  /** A key has become due. */
  added(): void;
  /** A key can be taken out; not to be done within this call. */
  ready(): void;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #hooks: QueueHooks;
  readonly #items = new Map<string, Item>();
  readonly #ready = new Fifo<Item>();
  readonly #delayed = new TimerHeap<Item>();
  readonly #running = new Set<Item>();
  /** One timer for all delayed keys: set for the earliest, or earlier. */
  #timer: { dueMs: number; handle: Timer } | undefined;
  #timerOn = false;
  /** Keys that run and are due again. */
  #dueAgain = 0;

  constructor(clock: Clock, hooks: QueueHooks) {
    this.#clock = clock;
    this.#hooks = hooks;
  }

  /** Keys that are due now and wait for a worker, those that run and are due again included. */
  get depth(): number {
    return this.#ready.size + this.#dueAgain;
  }

  get running(): number {
    return this.#running.size;
  }

  runAges(): number[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#running].map((item) => (nowMs - item.sinceMs) / 1000);
  }

  add(key: string): void {
    const item = this.#item(key);
    if (item.next === 'ready') return;
    if (item.next === 'delayed') this.#delayed.remove(item);
    this.#makeReady(item);
  }

  addAfter(key: string, delayMs: number): void {
    if (!(delayMs > 0)) {
      this.add(key);
      return;
    }
    const item = this.#item(key);
    const dueMs = this.#clock.monotonicMs() + delayMs;
    if (item.next === 'ready' || (item.next === 'delayed' && item.dueMs <= dueMs)) return;
    if (item.next === 'delayed') this.#delayed.remove(item);
    item.next = 'delayed';
    item.dueMs = dueMs;
    this.#delayed.push(item);
    this.#arm();
  }

  /** The next key to run, now marked as running; with how long it waited. */
  take(): { item: Item; waitedMs: number } | undefined {
    const item = this.#ready.shift();
    if (item === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    const waitedMs = nowMs - item.sinceMs;
    item.next = 'none';
    item.running = true;
    item.sinceMs = nowMs;
    this.#running.add(item);
    return { item, waitedMs };
  }

  /** The run has ended. Adds that came meanwhile take effect now; says how long it ran. */
  end(item: Item): number {
    const nowMs = this.#clock.monotonicMs();
    const workedMs = nowMs - item.sinceMs;
    item.running = false;
    this.#running.delete(item);
    if (item.next === 'ready') {
      this.#dueAgain--;
      item.sinceMs = nowMs;
      this.#ready.push(item);
      this.#hooks.ready();
    }
    this.#dropIfIdle(item);
    return workedMs;
  }

  forget(key: string): void {
    const item = this.#items.get(key);
    if (item === undefined) return;
    item.failures = 0;
    this.#dropIfIdle(item);
  }

  /** Delayed keys become due only while the timer is on. */
  startTimer(): void {
    this.#timerOn = true;
    this.#arm();
  }

  stopTimer(): void {
    this.#timer?.handle.cancel();
    this.#timer = undefined;
    this.#timerOn = false;
  }

  #item(key: string): Item {
    let item = this.#items.get(key);
    if (item === undefined) {
      item = { key, next: 'none', running: false, sinceMs: 0, failures: 0, dueMs: 0, sequence: 0, index: -1 };
      this.#items.set(key, item);
    }
    return item;
  }

  #makeReady(item: Item): void {
    item.next = 'ready';
    this.#hooks.added();
    if (item.running) {
      this.#dueAgain++;
      return;
    }
    item.sinceMs = this.#clock.monotonicMs();
    this.#ready.push(item);
    this.#hooks.ready();
  }

  #dropIfIdle(item: Item): void {
    if (!item.running && item.next === 'none' && item.failures === 0) this.#items.delete(item.key);
  }

  #arm(): void {
    const earliest = this.#delayed.peek();
    if (!this.#timerOn || earliest === undefined) return;
    // A timer that is too early only looks and arms again: cheaper than moving it each time a key leaves.
    if (this.#timer !== undefined && this.#timer.dueMs <= earliest.dueMs) return;
    this.#timer?.handle.cancel();
    const delayMs = earliest.dueMs - this.#clock.monotonicMs();
    this.#timer = {
      dueMs: earliest.dueMs,
      handle: this.#clock.setTimeout(() => this.#fire(), Math.max(0, delayMs)),
    };
  }

  #fire(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (
      let item = this.#delayed.peek();
      item !== undefined && item.dueMs <= nowMs;
      item = this.#delayed.peek()
    ) {
      this.#delayed.pop();
      this.#makeReady(item);
    }
    this.#arm();
  }
}
