// The behaviour of one kind in the embedded API server. Built-in kinds come from one table (kinds/), CRDs add to it. A
// Kind is pure: it never reads other objects; rules that do are admission (admission/).

import type { KubeObject, Resource } from '../api/object.ts';
import type { WriteRules } from './kinds/write-rules.ts';
import type { Schema } from './schema.ts';

/** One field error, in Kubernetes' words. */
export interface FieldError {
  reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate'
    | 'FieldValueNotFound'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueTypeInvalid';
  /** For example `spec.volumes[0].csi.driver`. */
  field: string;
  /** The full message, for example `Invalid value: "x": must be …`. */
  message: string;
}

/** A column of `kubectl get`. */
export interface Column {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date' | 'number';
  description?: string;
  format?: string;
  /** 0 is shown by default, above 0 only with `-o wide`. */
  priority?: number;
  /** `nowMs` for ages. */
  cell(object: KubeObject, nowMs: number): string | number | boolean | null;
}

/** The subresource that a strategy prepares a write for. '' is the object itself. */
export type Subresource =
  | ''
  | 'status'
  | 'scale'
  | 'finalize'
  | 'binding'
  | 'eviction'
  | 'token'
  | 'approval'
  | 'ephemeralcontainers'
  | 'resize'
  // Answered by a kubelet.
  | 'log'
  | 'exec'
  | 'attach'
  | 'portforward'
  | 'proxy';

export interface Kind extends Resource {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Without '': the subresources that this kind serves. */
  readonly subresources: readonly Subresource[];
  /** Structure of the object: for unknown fields, merge keys, explain, apply. */
  schema(): Schema;
  readonly columns: readonly Column[];
  /** A warning that every answer about it carries. */
  readonly deprecation?: string;
  /** Whether a change outside metadata and status increments `metadata.generation`. */
  readonly hasGeneration: boolean;
  /** A new object has none: its first change makes it 1. */
  readonly startsWithoutGeneration?: boolean;
  /** Supported verbs; others get 405. */
  readonly verbs: readonly string[];
  /** What differs from kind to kind in the verbs themselves. */
  readonly writes: WriteRules;
  /** Applies defaults. `object` is private to the request and mutated in place. */
  setDefaults(object: KubeObject): void;
  /** Clears what a client may not set on create (status, …). In place. */
  prepareForCreate(object: KubeObject): void;
  /** Restores what this write may not change (spec on a status write, status on a spec write). In place on `next`. */
  prepareForUpdate(next: KubeObject, current: KubeObject, subresource: Subresource): void;
  /**
   * Changes that the server makes on its own behalf, after ownership was recorded: the writer does not own them. Replaces
   * sections of `object`, never mutates them. `current` is undefined on create.
   */
  normalise?(object: KubeObject, current: KubeObject | undefined, subresource: Subresource): void;
  /** Sets timestamps for changes that this write causes; `current` is undefined on create. In place on `next`. */
  stampTimes?(next: KubeObject, current: KubeObject | undefined, now: string): void;
  /** All field errors at once; the caller validates metadata. `current` on an update: what it has may be exempt. */
  validate(object: KubeObject, current?: KubeObject): FieldError[];
  validateUpdate(next: KubeObject, current: KubeObject, subresource: Subresource): FieldError[];
  /** What is accepted, but told to the client; `current` is undefined on create. */
  warnings?(object: KubeObject, current: KubeObject | undefined): string[];
  /** Fields usable in field selectors besides `metadata.name` and `metadata.namespace`. */
  readonly selectable: readonly string[];
  /** The value of such a field, '' where the object does not have it. */
  selectableField(object: KubeObject, field: string): string;
  /** Of a CustomResourceDefinition. */
  readonly isCustom?: boolean;
  /** Created, answered and never stored (reviews). */
  readonly virtual?: boolean;
  /** The fields of its `scale` subresource. */
  readonly scale?: ScalePaths;
  /** This kind is another view of objects that are stored (and watched) as `resource`. */
  readonly storedAs?: StoredAs;
}

/** Neither function mutates its argument; metadata is unchanged except where the kinds differ. */
export interface StoredAs {
  readonly resource: Resource;
  toStored(object: KubeObject): KubeObject;
  fromStored(object: KubeObject): KubeObject;
}

/** Paths such as `.spec.replicas`. */
export interface ScalePaths {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  readonly labelSelector?: string;
}
