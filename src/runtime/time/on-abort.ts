// Many who wait for the same abort, behind one listener: an EventTarget's listeners cost microseconds each to put on and
// take off, and one signal is waited for by everything that its component does.

/** On the signal itself: looking it up in a map costs more than all the rest here. */
const WAITING = Symbol('waiting');

interface Waited extends AbortSignal {
  [WAITING]?: Set<Waiter> | undefined;
}

/** The same function may wait twice: what is kept is its own each time. */
interface Waiter {
  readonly callback: () => void;
}

/**
 * Calls back once `signal` aborts, in the order of the calls to this; the function it gives takes that back. A signal that
 * has aborted already calls nobody: look at it first.
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
      // As an event listener's: everybody is told all the same, and nobody overlooks it.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
