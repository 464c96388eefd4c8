// Deletes an object: at once, or by setting its deletionTimestamp until its grace period is over and its finalizers are
// gone.

import { asText } from '../../../api/as-text.ts';
import type { KubeObject } from '../../../api/object.ts';
import type { Kind } from '../../kind.ts';
import type { Plan } from '../../storage/store.ts';
import type { Version } from '../../storage/version.ts';
import { invalid as invalidValue, notSupported } from '../../validation/checks.ts';
import { present, storageTypeOf, toStored } from '../presentation.ts';
import { isObject, keyFor, type Machine, type WriteAnswer, type WriteRequest } from '../request.ts';
import { badRequest, conflict, invalidOptions, notFound, successStatus } from '../status.ts';
import { admitDelete } from './admit.ts';
import { type DeleteParameters, decideDeletion } from './deletion.ts';

export async function deleteOne(
  machine: Machine,
  request: WriteRequest,
  parameters: DeleteParameters,
): Promise<WriteAnswer> {
  const { kind, namespace, name } = request;
  const type = storageTypeOf(kind);
  const key = keyFor(namespace, name);
  let removed: KubeObject | undefined;
  let marked: KubeObject | undefined;
  const decide = (current: Version | undefined): Plan => {
    if (current === undefined) throw notFound(kind, name);
    const shown = present(current, kind);
    checkPreconditions(kind, shown.object, parameters);
    admitDelete(machine, request, shown.object);
    const own = { ...shown.object, metadata: { ...shown.object.metadata } };
    const step = decideDeletion(own, kind, parameters, machine.clock.now());
    if (step.kind === 'wait') return { kind: 'keep', version: current };
    if (step.kind === 'remove') {
      removed = kind.writes.answersMarked ? { ...step.object } : shown.object;
      return { kind: 'remove', object: toStored(step.object, kind) };
    }
    marked = step.object;
    return { kind: 'put', object: toStored(step.object, kind) };
  };
  if (request.dryRun) {
    const current = machine.store.head(type, key);
    decide(current);
    if (marked !== undefined) return { kind: 'other', body: marked, code: 200 };
    if (removed === undefined && current !== undefined) {
      return { kind: 'object', version: present(current, kind), created: false };
    }
  } else {
    const version = await machine.store.write(type, key, decide);
    if (removed === undefined) return { kind: 'object', version: present(version, kind), created: false };
  }
  const gone = removed as KubeObject;
  if (kind.writes.answersDeleted) return { kind: 'other', body: gone, code: 200 };
  const { uid } = gone.metadata;
  const group = kind.group === '' ? {} : { group: kind.group };
  return { kind: 'other', body: successStatus({ name, ...group, kind: kind.plural, uid }), code: 200 };
}

function checkPreconditions(kind: Kind, current: KubeObject, { preconditions }: DeleteParameters): void {
  const { uid, resourceVersion } = preconditions ?? {};
  const { name, uid: ownUid, resourceVersion: ownVersion } = current.metadata;
  if (uid !== undefined && uid !== ownUid) {
    throw conflict(
      { group: kind.group, plural: kind.kind },
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${ownUid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== ownVersion) {
    throw conflict(
      { group: kind.group, plural: kind.kind },
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${ownVersion}). The object might have been modified`,
    );
  }
}

const OPTIONS = 'DeleteOptions';
const POLICIES = ['Background', 'Foreground', 'Orphan'] as const;

/** Reads a DeleteOptions body. The caller combines `dryRun` with the query. */
export function readDeleteOptions(body: unknown): DeleteParameters & { dryRun: boolean } {
  if (body === undefined) return { dryRun: false };
  if (!isObject(body)) throw badRequest('the body must be a DeleteOptions object');
  if (body.kind !== undefined && body.kind !== 'DeleteOptions') {
    throw badRequest(`the body of a deletion must be DeleteOptions, not ${asText(body.kind)}`);
  }
  const { gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions, dryRun } = body;
  if (orphanDependents !== undefined && orphanDependents !== null && propagationPolicy) {
    throw invalidOptions(
      OPTIONS,
      invalidValue(
        'propagationPolicy',
        propagationPolicy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    );
  }
  const odd = Array.isArray(dryRun) ? dryRun.filter((each) => each !== 'All') : [];
  if (odd.length > 0) throw invalidOptions(OPTIONS, notSupported('dryRun', odd, ['All']));
  if (
    gracePeriodSeconds !== undefined &&
    gracePeriodSeconds !== null &&
    !Number.isSafeInteger(gracePeriodSeconds)
  ) {
    throw badRequest('gracePeriodSeconds must be an integer');
  }
  const { uid, resourceVersion } = isObject(preconditions) ? preconditions : {};
  return {
    gracePeriodSeconds: (gracePeriodSeconds as number | null) ?? undefined,
    propagationPolicy: policyOf(propagationPolicy, orphanDependents),
    preconditions: {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    },
    dryRun: Array.isArray(dryRun) && dryRun.includes('All'),
  };
}

export function policyOf(policy: unknown, orphanDependents?: unknown): DeleteParameters['propagationPolicy'] {
  if (policy === undefined || policy === null || policy === '') {
    if (orphanDependents === true) return 'Orphan';
    return orphanDependents === false ? 'Background' : undefined;
  }
  const known = POLICIES.find((each) => each === policy);
  if (known === undefined) {
    throw invalidOptions(OPTIONS, notSupported('propagationPolicy', policy, [...POLICIES, 'nil']));
  }
  return known;
}
