// Encodes an object as JSON. managedFields is often half of the text and mostly the same for many objects, so it is
// assembled from cached texts.

import type { KubeObject } from '../../api/object.ts';
import { entryText } from '../patch/managed-fields.ts';

export function encodeObject(object: KubeObject): string {
  const { managedFields, ...metadata } = object.metadata;
  if (managedFields === undefined) return JSON.stringify(object);
  // Stored objects begin with these three fields, and readers of stored bytes rely on it.
  const { apiVersion, kind, metadata: _metadata, ...rest } = object;
  const sections = JSON.stringify(rest);
  return (
    `{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},` +
    `"metadata":${JSON.stringify(metadata).slice(0, -1)},"managedFields":[${managedFields.map(entryText).join(',')}]}` +
    (sections === '{}' ? '}' : `,${sections.slice(1)}`)
  );
}
