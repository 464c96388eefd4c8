// Claims that have their volume and only wait to be let go. Those without a volume go first: letting go costs the server as
// much as an intent, and nobody waits for it. Their turn comes when no volume has been asked for during a moment.

import type { Clock } from '../../../runtime/ports.ts';

const QUIET_MS = 500;

export class SettleLater {
  readonly #clock: Clock;
  readonly #wake: (key: string) => void;
  readonly #waiting = new Set<string>();
  #beingMade = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #watching = false;

  /** `wake` hears the keys whose turn has come. */
  constructor(options: { clock: Clock; wake: (key: string) => void }) {
    this.#clock = options.clock;
    this.#wake = options.wake;
  }

  get isBusy(): boolean {
    return this.#beingMade > 0 || this.#clock.monotonicMs() - this.#lastMs < QUIET_MS;
  }

  /** Runs `make`, which is somebody's wait for a volume. */
  async while<T>(make: () => Promise<T>): Promise<T> {
    this.#beingMade++;
    try {
      return await make();
    } finally {
      this.#beingMade--;
      this.#lastMs = this.#clock.monotonicMs();
    }
  }

  add(key: string, signal: AbortSignal): void {
    this.#waiting.add(key);
    if (!this.#watching) void this.#watch(signal);
  }

  delete(key: string): void {
    this.#waiting.delete(key);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    this.#watching = true;
    try {
      while (this.isBusy) await this.#clock.sleep(QUIET_MS, signal);
    } catch {
      // Stopped: the intents stay for the next run.
      return;
    } finally {
      this.#watching = false;
    }
    const keys = [...this.#waiting];
    this.#waiting.clear();
    for (const key of keys) this.#wake(key);
  }
}
