// Makes a Kind of the built-in table. A definition gives what differs from the defaults: all verbs, status isolated from
// spec where there is a status subresource, no defaulting, no validation.

import type { KubeObject } from '../../api/object.ts';
import { deleteOwn, getOwn, setOwn } from '../../api/own-property.ts';
import { builtinSchema, zeroOf } from '../builtin-schema/builtin-schema.ts';
import type { Column, FieldError, Kind, ScalePaths, StoredAs, Subresource } from '../kind.ts';
import { copyJson } from '../patch/json.ts';
import type { Schema } from '../schema.ts';
import { type Loose, mapOf } from './loose.ts';
import { writeRulesOf } from './write-rules.ts';

export const ALL_VERBS: readonly string[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

export interface KindDefinition {
  group: string;
  version: string;
  kind: string;
  plural: string;
  namespaced: boolean;
  /** Where its generated schema comes from, such as `core/v1`. */
  module: string;
  shortNames?: readonly string[];
  categories?: readonly string[];
  subresources?: readonly Subresource[];
  columns: readonly Column[];
  deprecation?: string;
  hasGeneration?: boolean;
  startsWithoutGeneration?: boolean;
  /** The client may set the status at creation (nodes register with theirs). */
  keepsStatusOnCreate?: boolean;
  verbs?: readonly string[];
  virtual?: boolean;
  storedAs?: StoredAs;
  scale?: ScalePaths;
  setDefaults?(object: Loose): void;
  prepareForCreate?(object: Loose): void;
  /** Runs after status and spec were isolated from each other. */
  prepareForUpdate?(next: Loose, current: Loose, subresource: Subresource): void;
  normalise?(object: Loose, current: Loose | undefined, subresource: Subresource): void;
  stampTimes?(next: Loose, current: Loose | undefined, now: string): void;
  validate?(object: Loose, current?: Loose): FieldError[];
  /** In addition to `validate`, which also runs on the new object. */
  validateUpdate?(next: Loose, current: Loose, subresource: Subresource): FieldError[];
  warnings?(object: Loose, current: Loose | undefined): string[];
  selectable?: Readonly<Record<string, (object: Loose) => unknown>>;
}

export function defineKind(definition: KindDefinition): Kind {
  const { group, version, kind, plural, namespaced, module, selectable = {} } = definition;
  const subresources = definition.subresources ?? [];
  const hasStatus = subresources.includes('status');
  const writes = writeRulesOf(definition);
  let known: Schema | undefined;
  const schema = (): Schema => (known ??= builtinSchema(module, kind));
  return {
    group,
    version,
    kind,
    plural,
    namespaced,
    singular: kind.toLowerCase(),
    shortNames: definition.shortNames ?? [],
    categories: definition.categories ?? [],
    subresources,
    schema,
    columns: definition.columns,
    ...(definition.deprecation && { deprecation: definition.deprecation }),
    hasGeneration: definition.hasGeneration ?? false,
    ...(definition.startsWithoutGeneration ? { startsWithoutGeneration: true } : {}),
    verbs: definition.verbs ?? ALL_VERBS,
    writes,
    ...(definition.virtual ? { virtual: true } : {}),
    ...(definition.storedAs ? { storedAs: definition.storedAs } : {}),
    ...(definition.scale ? { scale: definition.scale } : {}),
    setDefaults: (object) => definition.setDefaults?.(object as Loose),
    prepareForCreate(object) {
      if (hasStatus && !definition.keepsStatusOnCreate) clearStatus(object as Loose, schema());
      definition.prepareForCreate?.(object as Loose);
    },
    prepareForUpdate(next, current, subresource) {
      if (hasStatus) isolate(next as Loose, current as Loose, subresource);
      if (subresource === 'status' && writes.statusKeepsMetadata) keepMetadata(next, current);
      definition.prepareForUpdate?.(next as Loose, current as Loose, subresource);
    },
    ...(definition.normalise && {
      normalise: (object, current, subresource) =>
        definition.normalise?.(object as Loose, current as Loose | undefined, subresource),
    }),
    ...(definition.stampTimes && {
      stampTimes: (next, current, now) => definition.stampTimes?.(next as Loose, current as Loose, now),
    }),
    validate: (object, current) => definition.validate?.(object as Loose, current as Loose | undefined) ?? [],
    validateUpdate: (next, current, subresource) =>
      definition.validateUpdate?.(next as Loose, current as Loose, subresource) ?? [],
    ...(definition.warnings && {
      warnings: (object, current) =>
        definition.warnings?.(object as Loose, current as Loose | undefined) ?? [],
    }),
    selectable: Object.keys(selectable),
    selectableField(object, field) {
      const value = getOwn(selectable, field)?.(object as Loose);
      return value === undefined || value === null ? '' : String(value);
    },
  };
}

function clearStatus(object: Loose, schema: Schema): void {
  const { status } = zeroOf(schema);
  if (status === undefined) delete object.status;
  else object.status = copyJson(status);
}

/** A status write changes only status and metadata; a write to the object never changes status. */
function isolate(next: Loose, current: Loose, subresource: Subresource): void {
  if (subresource === 'status') {
    for (const field in current) {
      if (field !== 'status' && field !== 'metadata') restore(next, current, field);
    }
    for (const field in next) if (!Object.hasOwn(current, field) && field !== 'status') delete next[field];
  } else if (subresource === '') {
    restore(next, current, 'status');
  }
}

const WRITTEN_METADATA = [
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

function keepMetadata({ metadata }: KubeObject, { metadata: own }: KubeObject): void {
  for (const field of WRITTEN_METADATA) {
    if (own[field] === undefined) delete metadata[field];
    else (metadata as Record<typeof field, unknown>)[field] = own[field];
  }
}

export function restore(next: KubeObject, current: KubeObject, field: string): void {
  const [target, source] = [next as Loose, current as Loose];
  // Stored objects are shared; a section that is mutated in place must be copied first.
  if (Object.hasOwn(source, field))
    setOwn(target, field, mapOf(source[field]) ? { ...source[field] } : source[field]);
  else deleteOwn(target, field);
}
