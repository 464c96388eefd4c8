// Many who wait for the same abort, behind one listener: an EventTarget's listeners cost microseconds each to put on and
// take off, and one signal is waited for by everything that its component does.

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back once `signal` aborts, in the order of the calls to this; the function it gives takes that back. A signal that
 * has aborted already calls nobody: look at it first.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let callbacks = waiting.get(signal);
  if (callbacks === undefined) {
    callbacks = new Set();
    waiting.set(signal, callbacks);
    signal.addEventListener('abort', tellAll, { once: true });
  }
  // The same function may wait twice: what is kept is its own each time.
  const own = (): void => callback();
  const all = callbacks.add(own);
  return () => {
    all.delete(own);
  };
}

function tellAll(event: Event): void {
  const signal = event.target as AbortSignal;
  const callbacks = waiting.get(signal);
  waiting.delete(signal);
  for (const callback of callbacks ?? []) {
    callbacks?.delete(callback);
    try {
      callback();
    } catch (error) {
      // As an event listener's: everybody is told all the same, and nobody overlooks it.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
