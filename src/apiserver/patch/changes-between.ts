// The fields that a write changed or removed, for managedFields. Leaves out identity (apiVersion, kind, name, …), what
// only the server writes, and what a write through this subresource cannot own.

import type { KubeObject, Metadata } from '../../api/object.ts';
import { getOwn } from '../../api/own-property.ts';
import { zeroOf } from '../builtin-schema/builtin-schema.ts';
import type { Kind, Subresource } from '../kind.ts';
import type { Schema } from '../schema.ts';
import { isEmptySet } from './field-set.ts';
import type { FieldSet, FieldSets } from './field-sets.ts';
import { ChangesBuilder, compareFields, type FieldChanges, fieldsOf, propertySchema } from './field-walk.ts';
import type { Json, JsonObject } from './json.ts';

/** The metadata fields that have owners. The server sets the last two; who applied to an object in deletion owns them. */
export const OWNED_METADATA = [
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  'generateName',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

interface Ownership {
  readonly kind: Kind;
  readonly subresource: Subresource;
  readonly fieldSets: FieldSets;
}

/** The fields that an applied configuration claims. */
export function appliedFields(applied: KubeObject, { kind, subresource, fieldSets }: Ownership): FieldSet {
  const schema = kind.schema();
  const fields = fieldSets.builder();
  const sections = applied as unknown as JsonObject;
  for (const section of Object.keys(sections)) {
    if (!isOwned(section, kind, subresource)) continue;
    const below = fieldsOf(sections[section], propertySchema(schema, section), fieldSets);
    if (!isEmptySet(below)) fields.add(fieldSets.fieldEdge(section), below);
  }
  const metadata = fieldSets.builder();
  const ofMetadata = propertySchema(schema, 'metadata');
  for (const field of OWNED_METADATA) {
    const value = applied.metadata[field] as Json | undefined;
    if (value === undefined) continue;
    const below = fieldsOf(value, propertySchema(ofMetadata, field), fieldSets);
    if (!isEmptySet(below)) metadata.add(fieldSets.fieldEdge(field), below);
  }
  const owned = metadata.build({ member: false });
  if (owned !== fieldSets.empty) fields.add(METADATA, owned);
  return fields.build({ member: false });
}

export function changesBetween(
  current: KubeObject | undefined,
  next: KubeObject,
  { kind, subresource, fieldSets }: Ownership,
): FieldChanges {
  const schema = kind.schema();
  const found = new ChangesBuilder(fieldSets);
  // A new object is compared with an empty one, which has the fields that its type never omits.
  const before = (current ?? zeroOf(schema)) as JsonObject;
  const after = next as unknown as JsonObject;
  for (const section of Object.keys(after)) {
    const was = getOwn(before, section);
    if (was === after[section] || !isOwned(section, kind, subresource)) continue;
    const below = compareFields(was, after[section], propertySchema(schema, section), fieldSets);
    found.add(fieldSets.fieldEdge(section), below);
  }
  for (const section of Object.keys(before)) {
    if (Object.hasOwn(after, section) || !isOwned(section, kind, subresource)) continue;
    found.add(
      fieldSets.fieldEdge(section),
      compareFields(before[section], undefined, propertySchema(schema, section), fieldSets),
    );
  }
  found.add(
    METADATA,
    changesOfMetadata(current?.metadata, next.metadata, propertySchema(schema, 'metadata'), fieldSets),
  );
  return found.build() ?? NO_CHANGES;
}

function changesOfMetadata(
  before: Metadata | undefined,
  after: Metadata,
  schema: Schema | undefined,
  fieldSets: FieldSets,
): FieldChanges | undefined {
  const found = new ChangesBuilder(fieldSets);
  for (const field of OWNED_METADATA) {
    const was = before?.[field] as Json | undefined;
    const is = after[field] as Json | undefined;
    if (was === is) continue;
    found.add(fieldSets.fieldEdge(field), compareFields(was, is, propertySchema(schema, field), fieldSets));
  }
  return found.build();
}

const METADATA = 'f:metadata';
const NO_CHANGES: FieldChanges = {};

/** Status belongs to status writes. */
function isOwned(section: string, kind: Kind, subresource: Subresource): boolean {
  if (section === 'apiVersion' || section === 'kind' || section === 'metadata') return false;
  if (subresource === 'status') return section === 'status';
  return section !== 'status' || subresource !== '' || !kind.subresources.includes('status');
}
