// A component that can die as a process does, inside a process that lives on: in the simulation, and in a cluster in which
// crashes are caused on purpose. Everything it reaches (API server, drivers, files, time) goes through ports that are cut for
// ever once it is dead: what was awaited never answers, what is asked never arrives.

import type { Clock, Timer } from '../ports.ts';
import { sleepOn } from '../time/sleep-on.ts';

/** Never settles: what a dead process waits for. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

export class MortalProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly #stop = new AbortController();
  readonly #isDeaf: boolean;
  #alive = true;
  #stopping = false;
  /** While it is paused: what it would have noticed meanwhile, in order. */
  #backlog: (() => void)[] | undefined;

  /** Deaf: ignores that it is told to stop. */
  constructor(name: string, clock: Clock, isDeaf = false) {
    this.name = name;
    this.#isDeaf = isDeaf;
    this.clock = new MortalClock(clock, this);
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Told to stop, as by SIGTERM. */
  get stopping(): boolean {
    return this.#stopping;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** SIGSTOP: it does nothing, and its clock goes on. */
  get isPaused(): boolean {
    return this.#backlog !== undefined;
  }

  pause(): void {
    this.#backlog ??= [];
  }

  /** SIGCONT. */
  resume(): void {
    const backlog = this.#backlog ?? [];
    this.#backlog = undefined;
    for (const notice of backlog) this.notice(notice);
  }

  /** Something arrives at the process: at once, or when it goes on. */
  notice(callback: () => void): void {
    if (!this.#alive) return;
    if (this.#backlog) this.#backlog.push(callback);
    else callback();
  }

  /** SIGKILL. The abort only removes listeners elsewhere: nothing that it wakes can reach anything. */
  crash(): void {
    this.#alive = false;
    this.#stopping = true;
    this.#stop.abort(new Error(`${this.name} crashed`));
  }

  /** Ends together with its whole world, so nothing has to be cleaned up. */
  end(): void {
    this.#alive = false;
  }

  stop(): void {
    this.#stopping = true;
    if (!this.#isDeaf) this.#stop.abort(new Error(`${this.name} was told to stop`));
  }

  /** A port whose methods never answer once the process is dead. */
  cut<T extends object>(port: T): T {
    const guarded: Record<string, unknown> = {};
    for (const key of Object.keys(port) as (keyof T & string)[]) {
      const value = port[key];
      guarded[key] = typeof value === 'function' ? this.#cutMethod(port, value as never) : value;
    }
    return guarded as T;
  }

  /**
   * A port that takes no calls once the process is dead. For real time, where each call counts: what was asked before still
   * answers, but whoever hears it can reach nothing any more.
   */
  cutRequests<T extends object>(port: T): T {
    const guarded: Record<string, unknown> = {};
    for (const key of Object.keys(port) as (keyof T & string)[]) {
      const value: unknown = port[key];
      guarded[key] =
        typeof value === 'function'
          ? (...args: unknown[]) => (this.#alive ? value.apply(port, args) : never())
          : value;
    }
    return guarded as T;
  }

  #cutMethod(port: object, method: (...args: unknown[]) => unknown): unknown {
    return (...args: unknown[]) => {
      if (!this.alive) return never();
      const result = method.apply(port, args);
      return result instanceof Promise
        ? result.then((answer: unknown) => (this.alive ? answer : never()))
        : result;
    };
  }
}

class MortalClock implements Clock {
  readonly #clock: Clock;
  readonly #process: MortalProcess;

  constructor(clock: Clock, process: MortalProcess) {
    this.#clock = clock;
    this.#process = process;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  setTimeout(callback: () => void, delayMs: number): Timer {
    return this.#clock.setTimeout(() => this.#process.notice(callback), delayMs);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  setImmediate(callback: () => void): Timer {
    return this.#clock.setImmediate(() => this.#process.notice(callback));
  }
}
