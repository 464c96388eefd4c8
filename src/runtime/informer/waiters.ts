// Promises that wait for an object to reach a state, by key. A change costs only the waiters of that key.

import type { KubeObject } from '../../api/object.ts';
import { onAbort } from '../time/on-abort.ts';

interface Waiter<T> {
  readonly predicate: (object: T | undefined) => boolean;
  readonly resolve: (object: T | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class Waiters<T extends KubeObject> {
  readonly #byKey = new Map<string, Set<Waiter<T>>>();

  /** Resolves with the object of the first change that `predicate` accepts; rejects on abort. */
  wait(
    key: string,
    predicate: (object: T | undefined) => boolean,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const settle = (end: () => void) => {
        this.#forget(key, waiter);
        stopListening?.();
        end();
      };
      const waiter: Waiter<T> = {
        predicate,
        resolve: (object) => settle(() => resolve(object)),
        reject: (error) => settle(() => reject(error)),
      };
      const stopListening = signal && onAbort(signal, () => settle(() => reject(signal.reason)));
      const waiting = this.#byKey.get(key);
      if (waiting === undefined) this.#byKey.set(key, new Set([waiter]));
      else waiting.add(waiter);
    });
  }

  changed(key: string, object: T | undefined): void {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) return;
    for (const waiter of [...waiting]) {
      try {
        if (waiter.predicate(object)) waiter.resolve(object);
      } catch (error) {
        waiter.reject(error);
      }
    }
  }

  #forget(key: string, waiter: Waiter<T>): void {
    const waiting = this.#byKey.get(key);
    waiting?.delete(waiter);
    if (waiting?.size === 0) this.#byKey.delete(key);
  }
}
