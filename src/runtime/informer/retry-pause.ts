// The pause before an informer's next attempt. It can be cut short, but not below what the server ordered.

import type { Clock } from '../ports.ts';
import { childSignal } from '../time/child-signal.ts';

export class RetryPause {
  readonly #clock: Pick<Clock, 'sleep'>;
  #end: (() => void) | undefined;

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }

  /** Ends the pause under way, if there is one, as soon as the server allows it. */
  cut(): void {
    this.#end?.();
  }

  /** Resolves at its end, or when `signal` aborts, to whether it was cut. */
  async wait(
    { delayMs, orderedMs, isCut = false }: { delayMs: number; orderedMs: number; isCut?: boolean },
    signal: AbortSignal,
  ): Promise<boolean> {
    const pause = childSignal(signal);
    this.#end = () => pause.abort(new Error('the pause was cut short'));
    if (isCut) this.#end();
    try {
      if (orderedMs > 0) await this.#clock.sleep(orderedMs, signal);
      await this.#clock.sleep(delayMs - orderedMs, pause.signal);
    } catch {
      // Aborted: the caller looks at its signal itself.
    } finally {
      this.#end = undefined;
      pause.detach();
    }
    return pause.signal.aborted && !signal.aborted;
  }
}
