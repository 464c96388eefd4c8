// The handlers of one informer. They are called in order; what one throws is logged and stops nobody else.

import type { KubeObject } from '../../api/object.ts';
import type { Log } from '../ports.ts';
import type { InformerHandler } from './informer.ts';
import type { Change } from './store.ts';

interface Subscription<T extends KubeObject> {
  readonly handler: InformerHandler<T>;
  isOver: boolean;
}

export class Subscribers<T extends KubeObject> {
  readonly #log: Log;
  /** Replaced at each change, never mutated: an announcement under way keeps the list it began with. */
  #subscriptions: readonly Subscription<T>[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  /** Calls `added` for each object that is cached already. A handler that is given twice is called twice. */
  add(handler: InformerHandler<T>, cached: readonly T[]): () => void {
    for (const object of cached) this.#call(handler, { kind: 'added', key: '', object });
    return this.follow(handler).end;
  }

  /** Without what is cached, which the caller replays. */
  follow(handler: InformerHandler<T>): { replay: (object: T) => void; end: () => void } {
    const subscription = { handler, isOver: false };
    this.#subscriptions = [...this.#subscriptions, subscription];
    return {
      replay: (object) => {
        if (!subscription.isOver) this.#call(handler, { kind: 'added', key: '', object });
      },
      end: () => {
        subscription.isOver = true;
        this.#subscriptions = this.#subscriptions.filter((each) => each !== subscription);
      },
    };
  }

  announce(changes: readonly Change<T>[]): void {
    // A handler that subscribes another has just given it the cache as it is now; it must not see these changes too.
    const subscriptions = this.#subscriptions;
    for (const change of changes) {
      for (const { handler, isOver } of subscriptions) if (!isOver) this.#call(handler, change);
    }
  }

  #call(handler: InformerHandler<T>, change: Change<T>): void {
    try {
      if (change.kind === 'added') handler.added?.(change.object);
      else if (change.kind === 'updated') handler.updated?.(change.before, change.after);
      else handler.deleted?.(change.last);
    } catch (error) {
      this.#log.error('a handler threw', error, { change: change.kind, key: change.key });
    }
  }
}
