// The work queue: each key is in it once, running or not, and due now, due later or not at all. Of two due times the earlier
// wins. Due keys come out in the order in which they became due; a running key does not come out again before its run ends.

import type { Clock, Timer } from '../ports.ts';
import { type HeapEntry, TimerHeap } from '../time/timer-heap.ts';
import { Fifo } from './fifo.ts';
import { Retries, type RetryPorts } from './retries.ts';
import type { WorkqueueMetrics } from './workqueue-metrics.ts';

export interface Item extends HeapEntry {
  readonly key: string;
  next: 'none' | 'ready' | 'delayed';
  running: boolean;
  /** When it became ready, or when its run began: monotonic. */
  sinceMs: number;
  readonly retries: Retries;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #retryPorts: RetryPorts;
  readonly #onReady: () => void;
  readonly #items = new Map<string, Item>();
  readonly #ready = new Fifo<Item>();
  readonly #delayed = new TimerHeap<Item>();
  readonly #running = new Set<Item>();
  /** One timer for all delayed keys: set for the earliest, or earlier. */
  #timer: { dueMs: number; handle: Timer } | undefined;
  #timerOn = false;
  /** Keys that run and are due again. */
  #dueAgain = 0;
  /** Without metrics nothing is timed. */
  #metrics: WorkqueueMetrics | undefined;

  /** `onReady`: a key can be taken out; not to be done within this call. */
  constructor(ports: RetryPorts & { clock: Clock }, onReady: () => void) {
    this.#clock = ports.clock;
    this.#retryPorts = ports;
    this.#onReady = onReady;
  }

  reportTo(metrics: WorkqueueMetrics): void {
    this.#metrics = metrics;
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

  /** The next key to run, now marked as running. */
  take(): Item | undefined {
    const item = this.#ready.shift();
    if (item === undefined) return undefined;
    const waitedMs = this.#lap(item);
    item.next = 'none';
    item.running = true;
    this.#running.add(item);
    this.#metrics?.started(waitedMs);
    return item;
  }

  /** The run has ended. Adds that came meanwhile take effect now. */
  end(item: Item): void {
    const workedMs = this.#lap(item);
    item.running = false;
    this.#running.delete(item);
    if (item.next === 'ready') {
      this.#dueAgain--;
      this.#ready.push(item);
      this.#onReady();
    }
    this.#dropIfIdle(item);
    this.#metrics?.ended(workedMs);
  }

  retry(key: string, delayMs: number): void {
    this.#metrics?.retried();
    this.addAfter(key, delayMs);
  }

  forget(key: string): void {
    const item = this.#items.get(key);
    if (item === undefined) return;
    item.retries.clear();
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
      const retries = new Retries(this.#retryPorts);
      item = { key, next: 'none', running: false, sinceMs: 0, retries, dueMs: 0, sequence: 0, index: -1 };
      this.#items.set(key, item);
    }
    return item;
  }

  #makeReady(item: Item): void {
    item.next = 'ready';
    this.#metrics?.added();
    if (item.running) {
      this.#dueAgain++;
      return;
    }
    this.#lap(item);
    this.#ready.push(item);
    this.#onReady();
  }

  /** How long the item was in the state that ends now. */
  #lap(item: Item): number {
    if (this.#metrics === undefined) return 0;
    const sinceMs = item.sinceMs;
    item.sinceMs = this.#clock.monotonicMs();
    return item.sinceMs - sinceMs;
  }

  #dropIfIdle(item: Item): void {
    if (!item.running && item.next === 'none' && item.retries.isEmpty) this.#items.delete(item.key);
  }

  #arm(): void {
    const earliest = this.#delayed.peek();
    if (!this.#timerOn || earliest === undefined) return;
    // A timer that fires early just re-arms: cheaper than moving it each time a key leaves.
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
