// When the protection finalizer is added and when it may be removed. Pure.

import type { KubeObject } from '../../api/object.ts';

export type Protection = 'add' | 'remove-if-unused' | 'leave';

/** Admission adds the finalizer; here it is added to objects that were created without. */
export function decideProtection({ metadata }: KubeObject, finalizer: string): Protection {
  const isProtected = metadata.finalizers?.includes(finalizer) ?? false;
  if (metadata.deletionTimestamp !== undefined) return isProtected ? 'remove-if-unused' : 'leave';
  return isProtected ? 'leave' : 'add';
}

export function withFinalizer<T extends KubeObject>(object: T, finalizer: string): T {
  const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

export function withoutFinalizer<T extends KubeObject>(object: T, finalizer: string): T {
  const finalizers = (object.metadata.finalizers ?? []).filter((each) => each !== finalizer);
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
