// The Kubernetes port: what components may ask of an API server, whichever door it comes through (HTTP, or straight
// into the embedded server). Guarantees: every failure is a KubeError; objects handed out are shared and never
// changed by anyone; a call that is aborted rejects with the signal's reason.

import type { Draft, KubeObject, ObjectName, Resource } from '../../api/object.ts';

export interface CallOptions {
  signal?: AbortSignal;
}

export interface WriteOptions extends CallOptions {
  /** 'status', 'binding', 'eviction', 'token', … */
  subresource?: string;
  fieldManager?: string;
  dryRun?: boolean;
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /**
   * Of a created or replaced object only `uid` and `resourceVersion` may be relied on: the rest may be as it was sent,
   * without what the server added. The cheapest kind of write, for both sides.
   */
  brief?: boolean;
}

export interface Selection {
  /** All namespaces when absent. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface ListOptions extends CallOptions, Selection {
  limit?: number;
  continue?: string;
  resourceVersion?: string;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  /** As for a watch. */
  withoutManagedFields?: boolean;
}

export interface KubeList<T extends KubeObject> {
  items: T[];
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
}

export interface WatchOptions extends CallOptions, Selection {
  resourceVersion?: string;
  allowBookmarks?: boolean;
  /** Streaming list: the current objects as ADDED, then a bookmark with `initialEventsEnd`. */
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
  /** The caller does not read `managedFields`: they may be left out of the objects, which may share parts with each other. */
  withoutManagedFields?: boolean;
}

/** An ERROR event is never yielded: the iteration throws it as a KubeError (reason Expired/Gone when too old). */
export type WatchEvent<T extends KubeObject> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { type: 'BOOKMARK'; resourceVersion: string; initialEventsEnd: boolean };

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

export interface PatchOptions extends WriteOptions {
  type: PatchType;
  /** Server-side apply: take fields owned by others. */
  force?: boolean;
  /**
   * The expected object without its metadata: only the metadata of the answer is read then. Cheaper for both sides. Where
   * the patch does not name a resourceVersion, the object may have changed in other fields, and the answer does not show it.
   */
  known?: KubeObject;
}

export interface DeleteOptions extends CallOptions {
  preconditions?: { uid?: string; resourceVersion?: string };
  gracePeriodSeconds?: number;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  dryRun?: boolean;
}

export interface KubeClient {
  get<T extends KubeObject>(resource: Resource<T>, name: ObjectName, options?: CallOptions): Promise<T>;
  /** One page when `limit` is given, otherwise everything, fetched in pages. */
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<KubeList<T>>;
  /** Ends (without error) when the server closes the watch; throws a KubeError on anything else. */
  watch<T extends KubeObject>(resource: Resource<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options?: WriteOptions): Promise<T>;
  /** Replaces the object; with `metadata.resourceVersion` it fails with Conflict when that is no longer current. */
  update<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource<T>,
    name: ObjectName,
    patch: unknown,
    options: PatchOptions,
  ): Promise<T>;
  delete<T extends KubeObject>(
    resource: Resource<T>,
    name: ObjectName,
    options?: DeleteOptions,
  ): Promise<void>;
  deleteCollection<T extends KubeObject>(
    resource: Resource<T>,
    selection: Selection,
    options?: DeleteOptions,
  ): Promise<void>;
  /** POST to a subresource whose body and answer are kinds of their own (`token`, `binding`, `eviction`). */
  createSubresource<R>(
    resource: Resource,
    name: ObjectName,
    subresource: string,
    body: object,
    options?: WriteOptions,
  ): Promise<R>;
}

/** A kind that a server serves, in the version it prefers. */
export interface ServedResource extends Resource {
  readonly verbs: readonly string[];
  readonly singular?: string;
  readonly shortNames?: readonly string[];
}

export interface ServedResources {
  readonly resources: readonly ServedResource[];
  /** Groups (with their versions) that the server lists and could not describe: their kinds are missing above. */
  readonly unknown: readonly string[];
}

/** Discovery. Separate from `KubeClient`, because only generic commands need it. */
export interface Discovery {
  servedResources(options?: CallOptions): Promise<ServedResources>;
}
