// An object as JSON. What it says about who owns which field is often half of it and mostly the same for many objects,
// so it is put together from texts that are made once.

import type { KubeObject } from '../../api/object.ts';
import { entryText } from '../patch/managed-fields.ts';

export function encodeObject(object: KubeObject): string {
  const { managedFields, ...metadata } = object.metadata;
  if (managedFields === undefined) return JSON.stringify(object);
  // Stored objects begin with these three, and readers of stored bytes rely on it.
  const { apiVersion, kind, metadata: _metadata, ...rest } = object;
  const sections = JSON.stringify(rest);
  return (
    `{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},` +
    `"metadata":${JSON.stringify(metadata).slice(0, -1)},"managedFields":[${managedFields.map(entryText).join(',')}]}` +
    (sections === '{}' ? '}' : `,${sections.slice(1)}`)
  );
}
