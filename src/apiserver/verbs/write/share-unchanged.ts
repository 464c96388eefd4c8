// Structural sharing: parts that a write leaves equal are replaced by the stored ones. Later comparisons end at once, and
// versions of one object hold such a part only once.

import type { KubeObject } from '../../../api/object.ts';
import { getOwn, setOwn } from '../../../api/own-property.ts';
import { sameJson } from '../../../api/same-json.ts';

/** Mutates `next`; afterwards none of its sections may be mutated any more. */
export function shareUnchanged(next: KubeObject, current: KubeObject): { sectionsChanged: boolean } {
  const { metadata } = next;
  const own = current.metadata;
  for (const field of SHARED_METADATA) {
    if (
      metadata[field] !== own[field] &&
      metadata[field] !== undefined &&
      sameJson(metadata[field], own[field])
    ) {
      (metadata as Record<typeof field, unknown>)[field] = own[field];
    }
  }
  let sectionsChanged = false;
  const [after, before] = [next, current] as unknown as Record<string, unknown>[];
  for (const section in after) {
    const was = getOwn(before, section);
    if (section === 'metadata' || after[section] === was) continue;
    if (sameJson(after[section], was)) setOwn(after, section, was);
    else sectionsChanged = true;
  }
  for (const section in before) if (getOwn(after, section) === undefined) sectionsChanged = true;
  return { sectionsChanged };
}

const SHARED_METADATA = ['labels', 'annotations', 'finalizers', 'ownerReferences', 'managedFields'] as const;
