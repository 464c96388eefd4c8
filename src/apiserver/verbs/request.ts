// A verb's arguments: the parts of the server it uses, and one request in terms of kinds, from either entry point.

import type { Clock, Log, Random } from '../../runtime/ports.ts';
import { forbidden } from '../authorization/forbidden.ts';
import type { Kind, Subresource } from '../kind.ts';
import type { KindRegistry } from '../kind-registry.ts';
import type { FieldSets } from '../patch/field-sets.ts';
import { copyJson, copyJsonExcept } from '../patch/json.ts';
import type { AdmissionPlugin, Attributes, Authorizer, User } from '../pipeline.ts';
import type { Store } from '../storage/store.ts';
import type { Version } from '../storage/version.ts';
import type { ChangeEvents } from './read/change-events.ts';

/** The parts of the server that verbs use. */
export interface Machine {
  readonly store: Store;
  readonly registry: KindRegistry;
  readonly authorizer: Authorizer;
  readonly admission: readonly AdmissionPlugin[];
  readonly events: ChangeEvents;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Whether field ownership is recorded. */
  readonly tracksFields: boolean;
  readonly fieldSets: FieldSets;
  /** Aborts when the server stops: watches end. */
  readonly stopping: AbortSignal;
  /** Handles kinds and subresources that are never stored (reviews, tokens); undefined for any other. */
  virtual(request: WriteRequest, body: unknown): object | undefined;
}

/** Authorized, and served by its kind: only `openRequest` (dispatch.ts) creates one. */
export interface ResourceRequest {
  readonly user: User;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  /** '' where the path names a collection. */
  readonly name: string;
  readonly subresource: Subresource;
}

export interface WriteRequest extends ResourceRequest {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  /** Text for the client's `Warning` header. */
  warn(message: string): void;
}

/** The result of a write: a stored object, or (subresources, virtual kinds) an object of another kind. */
export type WriteAnswer =
  | { readonly kind: 'object'; readonly version: Version; readonly created: boolean }
  | { readonly kind: 'other'; readonly body: object; readonly code: number };

export function keyFor(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function authorize({ authorizer }: Pick<Machine, 'authorizer'>, attributes: Attributes): void {
  const { decision, reason } = authorizer.authorize(attributes);
  if (decision !== 'allow') throw forbidden(attributes, reason);
}

/** A private copy of an object from a client in this process. */
export const copyOf: <T>(value: T) => T = copyJson;

/** The same, but parts that are stored objects, which are shared, are kept. */
export const copyUnlessStored: <T>(value: T, stored: unknown) => T = copyJsonExcept;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
