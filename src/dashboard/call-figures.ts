// Calls of drivers between two samples, as figures for each method.

import type { CallFigures } from './page-messages.ts';
import type { EndedCall } from './step-source.ts';

export class CallCounter {
  #byMethod = new Map<string, { durations: number[]; failed: number }>();

  add({ method, durationMs, hasFailed }: EndedCall): void {
    let calls = this.#byMethod.get(method);
    if (calls === undefined) {
      calls = { durations: [], failed: 0 };
      this.#byMethod.set(method, calls);
    }
    calls.durations.push(durationMs);
    if (hasFailed) calls.failed++;
  }

  /** Since it was last asked. */
  take(): CallFigures[] {
    const taken = [...this.#byMethod].map(([method, { durations, failed }]) => {
      const sorted = durations.toSorted((a, b) => a - b);
      return {
        method,
        count: sorted.length,
        failed,
        medianMs: sorted[Math.floor((sorted.length - 1) / 2)] ?? 0,
        worstMs: sorted.at(-1) ?? 0,
      };
    });
    this.#byMethod = new Map();
    return taken;
  }
}
