// `sleep` for any clock, built on its `setTimeout`. Leaves neither a timer nor a listener behind.

import type { Clock } from '../ports.ts';
import { onAbort } from './on-abort.ts';

export function sleepOn(
  clock: Pick<Clock, 'setTimeout'>,
  delayMs: number,
  signal?: AbortSignal,
): Promise<void> {
  if (signal === undefined) return new Promise((resolve) => clock.setTimeout(resolve, delayMs));
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => {
      timer.cancel();
      reject(signal.reason);
    });
    const timer = clock.setTimeout(() => {
      stopListening();
      resolve();
    }, delayMs);
  });
}
