// Applies a patch of any of the four types to an object. Pure except for `current`, which is private to the request.

import type { KubeObject } from '../../api/object.ts';
import type { PatchType } from '../../runtime/kube/kube.ts';
import type { Kind, Subresource } from '../kind.ts';
import type { FieldSets } from './field-sets.ts';
import { isJsonObject, type Json, PatchError } from './json.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyServerSide } from './server-side-apply.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

export interface PatchRequest {
  type: PatchType;
  patch: unknown;
  /** Undefined only for apply, which then creates. */
  current: KubeObject | undefined;
  kind: Kind;
  fieldManager: string;
  force: boolean;
  subresource: Subresource;
  nowMs: number;
  fieldSets: FieldSets;
}

/** The patched object, not yet defaulted or validated. Throws a KubeError. */
export function applyPatch(request: PatchRequest): KubeObject {
  const { type, kind, current } = request;
  const patch = request.patch as Json;
  if (type === 'apply') return applyServerSide({ ...request, patch });
  const document = current as unknown as Json;
  const result = patched(type, document, patch, kind);
  if (!isJsonObject(result))
    throw new PatchError('the patch leaves something that is not an object', 'Invalid');
  return result as unknown as KubeObject;
}

function patched(type: Exclude<PatchType, 'apply'>, document: Json, patch: Json, kind: Kind): Json {
  switch (type) {
    case 'json':
      return applyJsonPatch(document, patch);
    case 'merge':
      if (!isJsonObject(patch)) throw new PatchError('a merge patch must be an object');
      return applyMergePatch(document, patch);
    case 'strategic':
      return applyStrategicMergePatch(document, patch, kind.schema());
  }
}
