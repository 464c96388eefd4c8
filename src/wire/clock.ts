// The clock port of the wire: deadlines, idle timers and turns of the event loop.

/** A timer that was set; `cancel` is idempotent and harmless after it fired. */
export interface Timer {
  cancel(): void;
  /** Lets the process exit before it fires. Virtual timers keep no process and have none. */
  unref?(): void;
}

export interface Clock {
  /** Wall-clock milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds since some fixed start; never goes back. For durations and deadlines. */
  monotonicMs(): number;
  setTimeout(callback: () => void, delayMs: number): Timer;
  /** Runs `callback` in a later turn of the event loop (virtual time: same instant, after what is queued). */
  setImmediate(callback: () => void): Timer;
}
