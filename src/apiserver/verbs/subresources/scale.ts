// The `scale` subresource: reads a Scale from an object, and writes its replicas back by an ordinary update of the
// object, so that validation, generation and conflicts are those of the object itself.

import { asText } from '../../../api/as-text.ts';
import { apiVersionOf, type KubeObject } from '../../../api/object.ts';
import type { PatchType } from '../../../runtime/kube/kube.ts';
import { scaleOf, withScale } from '../../kinds/scale.ts';
import { applyPatch } from '../../patch/apply-patch.ts';
import { present } from '../presentation.ts';
import { get } from '../read/get.ts';
import {
  copyOf,
  isObject,
  type Machine,
  type ResourceRequest,
  type WriteAnswer,
  type WriteRequest,
} from '../request.ts';
import { badRequest, notFound } from '../status.ts';
import { patch } from '../write/patch.ts';
import { planUpdate, writeUpdate } from '../write/update.ts';

export function getScale(machine: Machine, request: ResourceRequest): KubeObject {
  return scaleOf(get(machine, request).object, request.kind);
}

export async function updateScale(
  machine: Machine,
  request: WriteRequest,
  body: unknown,
): Promise<WriteAnswer> {
  checkKind(body);
  return writeScale(machine, request, () => body);
}

function checkKind(body: unknown): void {
  const kind = isObject(body) ? body.kind : undefined;
  if (kind !== undefined && kind !== '' && kind !== 'Scale') {
    throw badRequest(`${asText(kind)} cannot be handled as a Scale`);
  }
}

/** Applies the replicas to the object itself, owned through `scale`. */
export async function applyScale(
  machine: Machine,
  request: WriteRequest,
  body: unknown,
  { force }: { force: boolean },
): Promise<WriteAnswer> {
  checkKind(body);
  const { kind, name } = request;
  const replicas = isObject(body) && isObject(body.spec) ? body.spec.replicas : undefined;
  const keys = (kind.scale?.specReplicas ?? '').split('.').filter((key) => key !== '');
  const applied = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name },
    ...(keys.reduceRight<unknown>((below, key) => ({ [key]: below }), replicas) as object),
  };
  const answer = await patch(machine, request, applied, { type: 'apply', force });
  if (answer.kind === 'other') return answer;
  return { kind: 'other', code: 200, body: scaleOf(answer.version.object, kind) };
}

/** A Scale has no lists to merge: a strategic merge patch of it is a merge patch. */
export async function patchScale(
  machine: Machine,
  request: WriteRequest,
  body: unknown,
  type: Exclude<PatchType, 'apply'>,
): Promise<WriteAnswer> {
  return writeScale(machine, request, (current) =>
    applyPatch({
      type: type === 'strategic' ? 'merge' : type,
      patch: copyOf(body),
      current,
      kind: request.kind,
      fieldManager: request.fieldManager,
      force: false,
      subresource: 'scale',
      nowMs: machine.clock.now(),
      fieldSets: machine.fieldSets,
    }),
  );
}

async function writeScale(
  machine: Machine,
  request: WriteRequest,
  next: (current: KubeObject) => unknown,
): Promise<WriteAnswer> {
  const { kind, name } = request;
  const ofObject: WriteRequest = { ...request, subresource: '' };
  const answer = await writeUpdate(machine, ofObject, (stored) => {
    if (stored === undefined) throw notFound(kind, name);
    const current = present(stored, kind).object;
    return planUpdate(machine, ofObject, withScale(current, next(scaleOf(current, kind)), kind), stored);
  });
  if (answer.kind === 'other') return answer;
  return { kind: 'other', code: 200, body: scaleOf(answer.version.object, kind) };
}
