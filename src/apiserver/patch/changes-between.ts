// What a write did to the fields of an object, as their owners see it: without what identifies the object, and what
// the server alone writes; and of the rest only what a write through the subresource may own at all.

import type { KubeObject } from '../../api/object.ts';
import type { Kind, Subresource } from '../kind.ts';
import { fieldEdge } from './field-set-builder.ts';
import { ChangesBuilder, compareFields, type FieldChanges, propertySchema } from './field-walk.ts';
import type { JsonObject } from './json.ts';

/** Those of metadata that clients write. */
export const OWNED_METADATA = [
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  'generateName',
] as const;

export function changesBetween(
  current: KubeObject | undefined,
  next: KubeObject,
  { kind, subresource }: { kind: Kind; subresource: Subresource },
): FieldChanges {
  const schema = kind.schema();
  const found = new ChangesBuilder();
  const before = (current ?? NOTHING) as unknown as JsonObject;
  const after = next as unknown as JsonObject;
  const compare = (section: string): void => {
    if (before[section] === after[section] || !isOwned(section, kind, subresource)) return;
    const below = compareFields(before[section], after[section], propertySchema(schema, section));
    found.add(fieldEdge(section), below);
  };
  for (const section of Object.keys(after)) compare(section);
  for (const section of Object.keys(before)) if (!Object.hasOwn(after, section)) compare(section);
  const metadataSchema = propertySchema(schema, 'metadata');
  const inMetadata = new ChangesBuilder();
  for (const field of OWNED_METADATA) {
    const [was, is] = [current?.metadata[field], next.metadata[field]] as unknown as JsonObject[];
    if (was === is) continue;
    inMetadata.add(fieldEdge(field), compareFields(was, is, propertySchema(metadataSchema, field)));
  }
  found.add(fieldEdge('metadata'), inMetadata.build());
  return found.build() ?? NO_CHANGES;
}

const NO_CHANGES: FieldChanges = {};
const NOTHING = {};

/** Status belongs to status writes. */
function isOwned(section: string, kind: Kind, subresource: Subresource): boolean {
  if (section === 'apiVersion' || section === 'kind' || section === 'metadata') return false;
  if (subresource === 'status') return section === 'status';
  return section !== 'status' || subresource !== '' || !kind.subresources.includes('status');
}
