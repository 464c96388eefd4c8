// Many callbacks for one AbortSignal behind a single listener: adding and removing an EventTarget listener costs microseconds,
// and everything that a component does waits on its one signal.

/** Stored on the signal itself: a map lookup would cost more than the rest of this file. */
const WAITING = Symbol('waiting');

interface Waited extends AbortSignal {
  [WAITING]?: Set<Waiter> | undefined;
}

/** An object per registration, since the same function may be registered twice. */
interface Waiter {
  readonly callback: () => void;
}

/**
 * Calls back once `signal` aborts, in order of registration. Returns a function that removes the callback. A signal that has
 * already aborted calls nothing: check it first.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const waiting = waitingFor(signal);
  const waiter = { callback };
  waiting.add(waiter);
  return () => {
    waiting.delete(waiter);
  };
}

function waitingFor(signal: Waited): Set<Waiter> {
  const known = signal[WAITING];
  if (known !== undefined) return known;
  const waiting = new Set<Waiter>();
  signal[WAITING] = waiting;
  signal.addEventListener('abort', tellAll, { once: true });
  return waiting;
}

function tellAll(event: Event): void {
  const signal = event.target as Waited;
  const waiting = signal[WAITING] ?? new Set();
  signal[WAITING] = undefined;
  for (const waiter of waiting) {
    waiting.delete(waiter);
    try {
      waiter.callback();
    } catch (error) {
      // As with event listeners: the other callbacks still run, and the error is reported.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
