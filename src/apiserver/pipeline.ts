// The steps between a request and the store: authentication, authorization, admission. All of them read memory only, so
// they are synchronous: a write is checked against exactly the state that it is applied to.

import type { KubeObject, ObjectName, Resource } from '../api/object.ts';
import type { Kind, Subresource } from './kind.ts';

export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The attributes of a request for authorizers. `path` for non-resource requests, the rest for resources. */
export interface Attributes {
  readonly user: User;
  /** For non-resource requests the HTTP method in lower case. */
  readonly verb: string;
  readonly group?: string;
  readonly version?: string;
  readonly plural?: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** Of list and watch; the node authorizer uses it to restrict nodes to their own pods. */
  readonly fieldSelector?: string | undefined;
  readonly path?: string;
}

export interface Decision {
  decision: 'allow' | 'deny' | 'no-opinion';
  reason?: string;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision;
}

/** Reads of the committed state, for authorizers and admission. Objects are shared and immutable. */
export interface Reader {
  get<T extends KubeObject>(resource: Resource<T>, name: ObjectName): T | undefined;
  list<T extends KubeObject>(resource: Resource<T>, namespace?: string): Iterable<T>;
  /** Pending writes, decided but not committed: each object as it is committed, and as it will be. */
  pending<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string,
  ): Iterable<{ before: T | undefined; after: T | undefined }>;
  /** Calls back on every committed change, in order; `before` undefined on create, `after` undefined on deletion. */
  subscribe<T extends KubeObject>(
    resource: Resource<T>,
    listener: (before: T | undefined, after: T | undefined) => void,
  ): () => void;
}

export interface AdmissionRequest {
  readonly user: User;
  readonly operation: 'create' | 'update' | 'delete';
  readonly kind: Kind;
  readonly subresource: Subresource;
  readonly name: string;
  readonly namespace: string | undefined;
  /** Private to the request: mutating plugins change it in place. Undefined on delete. */
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly dryRun: boolean;
  /** Text for the client's `Warning` header. */
  warn(message: string): void;
}

/**
 * Both may throw a KubeError to reject the request. All `mutate`s run before the last defaulting and validation, all
 * `validate`s after. Only creations may be mutated.
 */
export interface AdmissionPlugin {
  readonly name: string;
  mutate?(request: AdmissionRequest): void;
  validate?(request: AdmissionRequest): void;
}
