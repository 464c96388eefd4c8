// How one kind behaves inside the embedded API server. Built-in kinds come from one table (kinds/), CRDs add to it.
// A Kind is pure: it never looks at other objects; rules that do are admission (admission/).

import type { KubeObject, Resource } from '../api/object.ts';
import type { Schema } from './schema.ts';

/** One problem with one field, worded as Kubernetes words it. */
export interface FieldError {
  reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate'
    | 'FieldValueNotFound'
    | 'FieldValueTooLong'
    | 'FieldValueTypeInvalid';
  /** For example `spec.volumes[0].csi.driver`. */
  field: string;
  /** The whole text, for example `Invalid value: "x": must be …`. */
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

/** What kind of write a strategy is preparing. '' is the object itself. */
export type Subresource =
  | ''
  | 'status'
  | 'scale'
  | 'finalize'
  | 'binding'
  | 'eviction'
  | 'token'
  | 'approval';

export interface Kind extends Resource {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Without '': those that this kind serves. */
  readonly subresources: readonly Subresource[];
  /** Structure of the object: unknown fields, merge keys, explain, apply. */
  schema(): Schema;
  readonly columns: readonly Column[];
  /** Whether a change outside metadata and status raises `metadata.generation`. */
  readonly hasGeneration: boolean;
  /** Verbs that make sense; the rest answer 405. */
  readonly verbs: readonly string[];
  /** Fills in defaults. `object` is private to the request and changed in place. */
  setDefaults(object: KubeObject): void;
  /** Clears what a client may not set on create (status, …). In place. */
  prepareForCreate(object: KubeObject): void;
  /** Puts back what this write may not touch (spec on a status write, status on a spec write). In place on `next`. */
  prepareForUpdate(next: KubeObject, current: KubeObject, subresource: Subresource): void;
  /** Notes when something happened that this write brings about; `current` is undefined on create. In place on `next`. */
  stampTimes?(next: KubeObject, current: KubeObject | undefined, now: string): void;
  /** All problems at once; metadata is validated by the caller. */
  validate(object: KubeObject): FieldError[];
  validateUpdate(next: KubeObject, current: KubeObject, subresource: Subresource): FieldError[];
  /** Fields usable in field selectors besides `metadata.name` and `metadata.namespace`. */
  readonly selectable: readonly string[];
  /** The value of one of them, '' where the object does not have it. */
  selectableField(object: KubeObject, field: string): string;
  /** Only ever created, answered at once and never stored (reviews). */
  readonly virtual?: boolean;
  /** What its `scale` subresource stands for. */
  readonly scale?: ScalePaths;
  /** This kind is another view of objects that are stored (and watched) as `resource`. */
  readonly storedAs?: StoredAs;
}

/** Neither function changes its argument; metadata passes through but for what the kinds disagree on. */
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
