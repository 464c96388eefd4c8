// Patches an object, with any of the four types. The patch is applied to the state that the write is checked against,
// so it only conflicts when the client gave a resourceVersion.

import type { KubeObject } from '../../../api/object.ts';
import type { PatchType } from '../../../runtime/kube/kube.ts';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import { definitionNameOf } from '../../builtin-schema/builtin-schema.ts';
import { applyPatch } from '../../patch/apply-patch.ts';
import { PatchError } from '../../patch/json.ts';
import type { Plan } from '../../storage/store.ts';
import type { Version } from '../../storage/version.ts';
import { required } from '../../validation/checks.ts';
import { present } from '../presentation.ts';
import { authorize, copyOf, type Machine, type WriteAnswer, type WriteRequest } from '../request.ts';
import {
  badRequest,
  conflict,
  invalidOptions,
  invalidPatch,
  nameless,
  notFound,
  unclassified,
} from '../status.ts';
import { prepareCreate } from './create.ts';
import { decodeBody, placeInNamespace } from './decode-object.ts';
import { planUpdate, writeUpdate } from './update.ts';

export interface PatchParameters {
  type: PatchType;
  force: boolean;
}

/** What can be checked without the object is rejected at once, by throwing. */
export function patch(
  machine: Machine,
  request: WriteRequest,
  body: unknown,
  { type, force }: PatchParameters,
): Promise<WriteAnswer> {
  const { kind, name, subresource } = request;
  if (type === 'apply' && request.fieldManager === '') {
    throw invalidOptions('PatchOptions', required('fieldManager', 'is required for apply patch'));
  }
  if (type === 'strategic' && !definitionNameOf(kind.schema())) {
    throw new PatchError(
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
      'UnsupportedMediaType',
    );
  }
  const patched = (current: KubeObject | undefined): KubeObject => {
    const object = applyPatch({
      type,
      patch: body,
      // Patches share unchanged parts with their argument; apply may mutate its argument.
      current: current === undefined || type !== 'apply' ? current : copyOf(current),
      kind,
      fieldManager: request.fieldManager,
      force,
      subresource,
      nowMs: machine.clock.now(),
      fieldSets: machine.fieldSets,
    });
    const decoded = decodePatched(object, request, type, current);
    placeInNamespace(decoded, request);
    if (decoded.metadata.name === undefined) throw nameless(name);
    if (decoded.metadata.name !== name) {
      throw badRequest(
        `the name of the object (${decoded.metadata.name}) does not match the name on the URL (${name})`,
      );
    }
    return decoded;
  };
  const plan = (current: Version | undefined): Plan => {
    if (current !== undefined) {
      const next = patched(present(current, kind).object);
      return planUpdate(machine, request, next, current, { tracked: type === 'apply' });
    }
    if (type !== 'apply' || subresource !== '') throw notFound(kind, name);
    const { user, namespace } = request;
    const { group, version, plural } = kind;
    authorize(machine, { user, verb: 'create', group, version, plural, namespace, name });
    const created = patched(undefined);
    const { uid } = created.metadata;
    if (uid !== undefined) {
      throw conflict(
        kind,
        name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    }
    return { kind: 'put', object: prepareCreate(machine, request, created, { tracked: true }) };
  };
  return writeUpdate(machine, request, plan);
}

/** An object that cannot be decoded is the fault of its patch. */
function decodePatched(
  object: KubeObject,
  request: WriteRequest,
  type: PatchType,
  current: KubeObject | undefined,
): KubeObject {
  try {
    return decodeBody(object, request, current);
  } catch (error) {
    if (!(error instanceof KubeError) || error.reason !== 'BadRequest') throw error;
    throw type === 'apply' ? unclassified(error.message) : invalidPatch(error.message);
  }
}
