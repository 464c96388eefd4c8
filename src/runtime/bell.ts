// Wakes one sleeper early. A ring while nobody sleeps is kept for the next one.

import type { Clock } from './ports.ts';

export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves at a ring, after `delayMs`, or when `signal` aborts. */
  async wait(clock: Pick<Clock, 'setTimeout'>, delayMs: number, signal?: AbortSignal): Promise<void> {
    if (!this.#rung && !signal?.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = clock.setTimeout(resolve, delayMs);
      const onAbort = () => resolve();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    }
    this.#rung = false;
  }
}
