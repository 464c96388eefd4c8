// Goes through many items a thousand at a time, with a turn of the event loop in between, so that other work is not held up.
// A thousand or fewer are done with when it returns.

import type { Clock } from '../ports.ts';

/** With indexes and handlers these take 10 to 20 ms. */
export const SLICE = 1000;

/** What `look` throws is thrown for the first slice only; later ones have no caller. */
export function inSlices<T>(
  clock: Pick<Clock, 'setImmediate'>,
  items: readonly T[],
  look: (item: T) => void,
): void {
  const from = (start: number): void => {
    for (const item of items.slice(start, start + SLICE)) look(item);
    if (start + SLICE < items.length) clock.setImmediate(() => from(start + SLICE));
  };
  from(0);
}
