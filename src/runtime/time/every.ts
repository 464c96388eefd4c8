// Calls a function at an interval, until the signal aborts.

import type { Clock } from '../ports.ts';

/** `intervalMs`: 0 for never. */
export async function every(
  { clock, intervalMs, signal }: { clock: Clock; intervalMs: number; signal: AbortSignal },
  call: () => void,
): Promise<void> {
  while (intervalMs > 0 && !signal.aborted) {
    await clock.sleep(intervalMs, signal).catch(() => {});
    if (!signal.aborted) call();
  }
}
