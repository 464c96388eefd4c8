// POST pods/NAME/binding: a scheduler assigns a pod to a node. Once, and never for a pod that is being deleted.

import { asText } from '../../../api/as-text.ts';
import type { KubeObject } from '../../../api/object.ts';
import type { Plan } from '../../storage/store.ts';
import type { Version } from '../../storage/version.ts';
import { timestamp } from '../../timestamp.ts';
import { isObject, type Machine, type WriteAnswer, type WriteRequest } from '../request.ts';
import { badRequest, conflict, invalid, notFound, successStatus } from '../status.ts';
import { admissionRequest } from '../write/admit.ts';
import { writeUpdate } from '../write/update.ts';

type Pod = KubeObject & {
  spec: { nodeName?: string; schedulingGates?: object[] };
  status?: { conditions?: { type: string; status: string; lastTransitionTime?: string }[] };
};

export async function bindPod(machine: Machine, request: WriteRequest, body: unknown): Promise<WriteAnswer> {
  const { kind, name } = request;
  if (!isObject(body)) throw badRequest('the body must be a Binding');
  checkBody(body, 'Binding', name);
  const target = isObject(body.target) ? body.target : {};
  const nodeName = target.name;
  if (typeof nodeName !== 'string' || nodeName === '') {
    const message = 'Required value';
    throw invalid({ ...kind, kind: 'Binding' }, name, [
      { reason: 'FieldValueRequired', field: 'target.name', message },
    ]);
  }
  const metadata = isObject(body.metadata) ? body.metadata : {};
  const decide = (current: Version | undefined): Plan => {
    if (current === undefined) throw notFound(kind, name);
    const pod = unsharedPod(current.object as Pod);
    if (typeof metadata.uid === 'string' && metadata.uid !== pod.metadata.uid) {
      throw conflict(
        kind,
        name,
        'Precondition failed: UID in precondition differs from the UID in object meta',
      );
    }
    const asked = admissionRequest(request, {
      operation: 'create',
      object: body as unknown as KubeObject,
      oldObject: undefined,
      name,
    });
    for (const plugin of machine.admission) plugin.validate?.(asked);
    if (pod.metadata.deletionTimestamp !== undefined) {
      throw conflict(kind, name, `pod ${name} is being deleted, cannot be assigned to a host`);
    }
    if (pod.spec.schedulingGates?.length) {
      throw conflict(kind, name, `pod ${name} has non-empty .spec.schedulingGates`);
    }
    if (pod.spec.nodeName) {
      throw conflict(kind, name, `pod ${name} is already assigned to node "${pod.spec.nodeName}"`);
    }
    place(pod, nodeName, metadata.annotations, timestamp(machine.clock.now()));
    return { kind: 'put', object: pod };
  };
  await writeUpdate(machine, request, decide);
  return { kind: 'other', body: successStatus(undefined, 201), code: 201 };
}

/** The body of a subresource is of its own kind and names the object. */
export function checkBody(body: Record<string, unknown>, kind: string, name: string): void {
  const { kind: given, metadata } = body;
  if (given !== undefined && given !== '' && given !== kind) {
    throw badRequest(`${asText(given)} cannot be handled as a ${kind}`);
  }
  if (!isObject(metadata) || metadata.name !== name) {
    throw badRequest(`name in URL does not match name in ${kind} object`);
  }
}

/** A copy of the parts that `place` changes. */
function unsharedPod(pod: Pod): Pod {
  return { ...pod, metadata: { ...pod.metadata }, spec: { ...pod.spec } };
}

function place(pod: Pod, nodeName: string, annotations: unknown, now: string): void {
  pod.spec.nodeName = nodeName;
  if (isObject(annotations)) {
    pod.metadata.annotations = { ...pod.metadata.annotations, ...(annotations as Record<string, string>) };
  }
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
  const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: now };
  pod.status = { ...pod.status, conditions: [...others, scheduled] };
}
