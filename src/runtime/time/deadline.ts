// A signal that aborts after some time on the given clock, or with its parent, whichever comes first.

import type { Clock } from '../ports.ts';
import { onAbort } from './on-abort.ts';

export interface Deadline {
  readonly signal: AbortSignal;
  /** Takes back the timer and lets go of the parent; to be called when what it guards has ended. */
  cancel(): void;
}

export interface DeadlineInit {
  clock: Pick<Clock, 'setTimeout'>;
  delayMs: number;
  /** What the signal aborts with when time is up; made only then. */
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

/** Runs `work` under a deadline of its own and always takes the deadline back. */
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
