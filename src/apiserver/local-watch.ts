// One watch by a component in the same process: the store's changes as an async iterator. Written as an iterator by
// hand, because an async generator takes several promises per event, and there are many events.

import type { KubeObject } from '../api/object.ts';
import type { WatchEvent, WatchOptions } from '../runtime/kube/kube.ts';
import type { Timer } from '../runtime/ports.ts';
import { onAbort } from '../runtime/time/on-abort.ts';
import { watch } from './verbs/read/watch.ts';
import { WatchQueue } from './verbs/read/watch-queue.ts';
import type { Machine, ResourceRequest } from './verbs/request.ts';

/** Lets a client resume within the five minutes of history that are kept (storage/recent-changes.ts). */
const BOOKMARK_PERIOD_MS = 240_000;

type Result<T extends KubeObject> = IteratorResult<WatchEvent<T>, undefined>;

const OVER = { done: true, value: undefined } as const;

/** Starts with the first `next`; only one `next` may be pending. */
export class LocalWatch<T extends KubeObject> implements AsyncIterableIterator<WatchEvent<T>, undefined> {
  readonly #machine: Machine;
  readonly #requestFor: () => ResourceRequest;
  readonly #options: WatchOptions;
  #queue: WatchQueue | undefined;
  #waiting: { resolve: (result: Result<T>) => void; reject: (error: unknown) => void } | undefined;
  #timeIsUp = false;
  #closed = false;
  #endTimer: Timer | undefined;
  #bookmarkTimer: Timer | undefined;
  #unlisten: (() => void)[] = [];

  constructor(machine: Machine, requestFor: () => ResourceRequest, options: WatchOptions) {
    this.#machine = machine;
    this.#requestFor = requestFor;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result<T>> {
    return new Promise((resolve, reject) => {
      if (!this.#closed && this.#queue === undefined) this.#open();
      this.#waiting = { resolve, reject };
      this.#look();
    });
  }

  async return(): Promise<Result<T>> {
    this.#close();
    this.#waiting?.resolve(OVER);
    this.#waiting = undefined;
    return OVER;
  }

  #open(): void {
    const { signal, allowBookmarks, timeoutSeconds, sendInitialEvents } = this.#options;
    const { clock, store, stopping } = this.#machine;
    signal?.throwIfAborted();
    const match = sendInitialEvents === undefined ? {} : { resourceVersionMatch: 'NotOlderThan' };
    const start = watch(this.#machine, this.#requestFor(), { ...this.#options, ...match });
    const look = (): void => this.#look();
    this.#queue = new WatchQueue(start, store.revision, look);
    if (timeoutSeconds !== undefined) {
      this.#endTimer = clock.setTimeout(() => {
        this.#timeIsUp = true;
        look();
      }, timeoutSeconds * 1000);
    }
    if (allowBookmarks) this.#armBookmark();
    if (signal) this.#unlisten.push(onAbort(signal, look));
    if (!stopping.aborted) this.#unlisten.push(onAbort(stopping, look));
  }

  #armBookmark(): void {
    const { clock, store } = this.#machine;
    this.#bookmarkTimer = clock.setTimeout(() => {
      this.#queue?.bookmark(store.revision);
      this.#look();
      this.#armBookmark();
    }, BOOKMARK_PERIOD_MS);
  }

  /** Resolves the pending `next` with an event or the end, when there is one. */
  #look(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const { signal } = this.#options;
    if (signal?.aborted) {
      this.#close();
      this.#waiting = undefined;
      waiting.reject(signal.reason);
      return;
    }
    let event = this.#queue?.take();
    while (event === 'searching') event = this.#queue?.take();
    if (event !== undefined) {
      this.#waiting = undefined;
      const value: WatchEvent<T> =
        event.kind === 'object'
          ? { type: event.type, object: event.version.object as T }
          : {
              type: 'BOOKMARK',
              resourceVersion: String(event.revision),
              initialEventsEnd: event.initialEventsEnd,
            };
      waiting.resolve({ done: false, value });
    } else if (this.#closed || this.#timeIsUp || this.#queue?.overflowed || this.#machine.stopping.aborted) {
      this.#close();
      this.#waiting = undefined;
      waiting.resolve(OVER);
    }
  }

  #close(): void {
    this.#closed = true;
    this.#endTimer?.cancel();
    this.#bookmarkTimer?.cancel();
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    this.#queue?.close();
  }
}
