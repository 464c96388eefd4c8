// Tells handlers of every cached object once more, at a period: what a handler missed or did wrongly is repaired then. A large
// cache is gone through in slices, so that other work is not held up.

import { type KubeObject, keyOf } from '../../api/object.ts';
import type { Clock } from '../ports.ts';
import { SLICE } from '../time/in-slices.ts';
import { onAbort } from '../time/on-abort.ts';
import type { Informer } from './informer.ts';
import type { Change } from './store.ts';

export interface ResyncOptions<T extends KubeObject> {
  readonly resyncMs: number;
  readonly clock: Clock;
  readonly cache: Pick<Informer<T>, 'get' | 'list'>;
  announce(changes: Change<T>[]): void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

export function resync<T extends KubeObject>(options: ResyncOptions<T>): void {
  const { resyncMs, clock, cache, announce, signal } = options;
  const wait = () => clock.setTimeout(() => begin(cache.list()), resyncMs);

  function begin(objects: readonly T[]): void {
    if (signal.aborted) return;
    const changes: Change<T>[] = [];
    for (const object of objects.slice(0, SLICE)) {
      const key = keyOf(object);
      // What has changed since the first slice was announced by that change.
      if (cache.get(key) === object) changes.push({ kind: 'updated', key, before: object, after: object });
    }
    announce(changes);
    if (objects.length > SLICE) clock.setImmediate(() => begin(objects.slice(SLICE)));
    else timer = wait();
  }

  let timer = wait();
  onAbort(signal, () => timer.cancel());
}
