// Wakes one waiter early. A ring while nobody waits is kept for the next one.

import type { Clock } from '../ports.ts';
import { onAbort } from './on-abort.ts';

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
      const stopListening = signal && onAbort(signal, resolve);
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
      timer.cancel();
      stopListening?.();
    }
    this.#rung = false;
  }
}
