// A signal that aborts after a time-out on the given clock, or with its parent, whichever comes first.

import type { Clock } from '../ports.ts';
import { onAbort } from './on-abort.ts';

export interface Deadline {
  readonly signal: AbortSignal;
  /** Cancels the timer and detaches from the parent; call it when the guarded work has ended. */
  cancel(): void;
}

export interface DeadlineInit {
  clock: Pick<Clock, 'setTimeout'>;
  delayMs: number;
  /** Makes the abort reason when the time is up. */
  reason: () => unknown;
  parent?: AbortSignal;
}

export function startDeadline({ clock, delayMs, reason, parent }: DeadlineInit): Deadline {
  const controller = new AbortController();
  const timer = clock.setTimeout(() => {
    stopListening?.();
    controller.abort(reason());
  }, delayMs);
  const onParent = () => {
    timer.cancel();
    controller.abort(parent?.reason);
  };
  const stopListening = parent && !parent.aborted ? onAbort(parent, onParent) : undefined;
  if (parent?.aborted) onParent();
  return {
    signal: controller.signal,
    cancel() {
      timer.cancel();
      stopListening?.();
    },
  };
}

/** Runs `work` under a deadline and always cancels the deadline afterwards. */
export async function withDeadline<T>(
  init: DeadlineInit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = startDeadline(init);
  try {
    return await work(deadline.signal);
  } finally {
    deadline.cancel();
  }
}
