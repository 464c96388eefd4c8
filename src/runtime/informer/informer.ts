// What components see of an informer: a cache of one kind that follows the API server, whatever happens to the
// connection. What it does next is decided in list-watch.ts.

import type { KubeObject, Resource } from '../../api/object.ts';
import type { KubeClient, Selection } from '../kube/kube.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Clock, Log, Random } from '../ports.ts';

export interface InformerPorts {
  kube: Pick<KubeClient, 'list' | 'watch'>;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
  /** Tests: whoever changes a cached object gets a TypeError. */
  freeze?: boolean;
  /** Whether to try streaming lists first; true unless told otherwise. */
  streams?: boolean;
  /**
   * The objects belong to these informers alone, as those from HTTP do. `managedFields`, often half of an object and read
   * by nobody here, is then deleted from them in place. A write without it leaves it as it is on the server.
   */
  ownsObjects?: boolean;
}

/** Errors of handlers are logged; they affect neither the informer nor other handlers. */
export interface InformerHandler<T extends KubeObject> {
  added?(object: T): void;
  /** Also called on resync, with `before === after`. */
  updated?(before: T, after: T): void;
  deleted?(last: T): void;
}

export interface SubscribeOptions {
  /**
   * Replays a large cache in slices, so that other work is not held up. The replay goes on after `subscribe` has returned, also
   * where the informer is synced: an object that changes before its turn comes as `updated` first, and as `added` after that;
   * one that is deleted before its turn comes as `deleted` only.
   */
  inSlices?: boolean;
}

export interface Informer<T extends KubeObject> {
  readonly resource: Resource<T>;
  /** By `keyOf` key. */
  get(key: string): T | undefined;
  list(): T[];
  /** Adding an index after start re-indexes what is cached. The same name and function may be added again. */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void;
  /** Removes an index. Harmless when there is none of that name. */
  dropIndex(name: string): void;
  byIndex(name: string, value: string): readonly T[];
  /** Distinct values that an index holds now. */
  indexValues(name: string): Iterable<string>;
  /** Replays what is cached as `added`, then follows. Returns unsubscribe. */
  subscribe(handler: InformerHandler<T>, options?: SubscribeOptions): () => void;
  /**
   * Resolves once the first list is in the cache and handlers have seen it, except those that are still being replayed to
   * (`inSlices`); rejects when `signal` aborts.
   */
  synced(signal?: AbortSignal): Promise<void>;
  readonly hasSynced: boolean;
  /** The resourceVersion of the cache: an older object that is not in it is gone. '' before the first list. */
  readonly resourceVersion: string;
  /**
   * Lists again. Resolves when the cache shows at least what the server had at the time of the call, however late or silent
   * the watch is; rejects when the informer has stopped. Calls that come before the list has begun share it. It does not
   * wait for the next regular attempt where the last one failed, or the kind is absent.
   */
  refresh(): Promise<void>;
  /** Resolves when the cache holds an object for which `predicate` holds, or no object where it takes undefined. */
  waitFor(
    key: string,
    predicate: (object: T | undefined) => boolean,
    signal?: AbortSignal,
  ): Promise<T | undefined>;
}

export interface InformerOptions<T extends KubeObject> extends Selection {
  /**
   * Drops fields that nobody reads before an object is cached; returns a new object. Not applied where another part of the
   * process already caches whole objects: that cache is shared.
   */
  trim?: (object: T) => T;
  /** Calls `updated(x, x)` for everything at this period; 0 or absent: never. */
  resyncMs?: number;
  /**
   * The kind may not be installed (a CRD), or this account may not read it: the informer then counts as synced and empty,
   * logs that once, retries with backoff, and fills when the kind appears.
   */
  optional?: boolean;
}

/** Informers of one process, shared: the same resource and options give the same informer. */
export interface Informers {
  of<T extends KubeObject>(resource: Resource<T>, options?: InformerOptions<T>): Informer<T>;
  /** Starts those asked for so far and, from then on, each as it is first asked for. They stop on abort. */
  start(signal: AbortSignal): void;
  /** All those asked for so far are synced. */
  synced(signal?: AbortSignal): Promise<void>;
}
