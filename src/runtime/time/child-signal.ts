// A signal that aborts with its parent, or earlier by itself.

import { onAbort } from './on-abort.ts';

export interface ChildSignal {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Detaches it from the parent; call it when its work has ended. */
  detach(): void;
}

/** Not AbortSignal.any: Node.js keeps its result and all listeners in memory until it aborts. */
export function childSignal(parent: AbortSignal): ChildSignal {
  const controller = new AbortController();
  if (parent.aborted) controller.abort(parent.reason);
  const detach = onAbort(parent, () => controller.abort(parent.reason));
  return { signal: controller.signal, abort: (reason) => controller.abort(reason), detach };
}
