// Runs the admission plugins of a write, and the steps between them: defaults, the kind's preparation, validation.

import type { KubeObject } from '../../../api/object.ts';
import type { FieldError } from '../../kind.ts';
import type { AdmissionRequest } from '../../pipeline.ts';
import { timestamp } from '../../timestamp.ts';
import { validateMetadata } from '../../validation/metadata.ts';
import type { Machine, WriteRequest } from '../request.ts';
import { invalid } from '../status.ts';
import { shareUnchanged } from './share-unchanged.ts';

export interface Admission {
  operation: AdmissionRequest['operation'];
  object: KubeObject | undefined;
  oldObject: KubeObject | undefined;
  name: string;
}

export function admissionRequest(request: WriteRequest, admission: Admission): AdmissionRequest {
  const { user, kind, subresource, namespace, dryRun } = request;
  return { user, kind, subresource, namespace, dryRun, ...admission, warn: (text) => request.warn(text) };
}

/** `track` records field ownership: after defaults, which count as the writer's, before admission, which does not. */
export function admitCreate(
  machine: Machine,
  request: WriteRequest,
  object: KubeObject,
  track: (object: KubeObject) => void,
): void {
  const { kind } = request;
  const { name } = object.metadata;
  const asked = admissionRequest(request, { operation: 'create', object, oldObject: undefined, name });
  kind.setDefaults(object);
  kind.prepareForCreate(object);
  kind.stampTimes?.(object, undefined, timestamp(machine.clock.now()));
  track(object);
  kind.normalise?.(object, undefined, '');
  for (const plugin of machine.admission) plugin.mutate?.(asked);
  // Cleared fields have defaults too, such as the phase of a new claim.
  kind.setDefaults(object);
  refuse(request, object, validateMetadata(object, kind), kind.validate(object));
  for (const text of kind.warnings?.(object, undefined) ?? []) request.warn(text);
  for (const plugin of machine.admission) plugin.validate?.(asked);
}

export function admitUpdate(
  machine: Machine,
  request: WriteRequest,
  next: KubeObject,
  current: KubeObject,
  steps: { track(next: KubeObject): void; afterMutation(next: KubeObject): void },
): void {
  const { kind, subresource } = request;
  const { name } = current.metadata;
  const asked = admissionRequest(request, { operation: 'update', object: next, oldObject: current, name });
  kind.setDefaults(next);
  kind.prepareForUpdate(next, current, subresource);
  kind.stampTimes?.(next, current, timestamp(machine.clock.now()));
  const { sectionsChanged } = shareUnchanged(next, current);
  steps.track(next);
  kind.normalise?.(next, current, subresource);
  for (const plugin of machine.admission) plugin.mutate?.(asked);
  steps.afterMutation(next);
  // The stored object was valid when it was written. A few rules depend on annotations, too.
  const isOther = sectionsChanged || next.metadata.annotations !== current.metadata.annotations;
  refuse(
    request,
    next,
    validateMetadata(next, kind, current),
    isOther ? kind.validate(next, current) : NO_ERRORS,
    kind.validateUpdate(next, current, subresource),
  );
  if (subresource === '') for (const text of kind.warnings?.(next, current) ?? []) request.warn(text);
  for (const plugin of machine.admission) plugin.validate?.(asked);
}

const NO_ERRORS: FieldError[] = [];

export function admitDelete(machine: Machine, request: WriteRequest, current: KubeObject): void {
  const { name } = current.metadata;
  const asked = admissionRequest(request, {
    operation: 'delete',
    object: undefined,
    oldObject: current,
    name,
  });
  for (const plugin of machine.admission) plugin.mutate?.(asked);
  for (const plugin of machine.admission) plugin.validate?.(asked);
}

/** `validate` and `validateUpdate` may find the same error; it is reported once. */
function refuse({ kind }: WriteRequest, object: KubeObject, ...found: readonly FieldError[][]): void {
  if (found.every((errors) => errors.length === 0)) return;
  const distinct = new Map(found.flat().map((error) => [`${error.field} ${error.message}`, error]));
  // As in Kubernetes, the errors of a view name the kind that is stored.
  const named = kind.storedAs?.resource ?? kind;
  throw invalid(named, object.metadata.name ?? object.metadata.generateName ?? '', [...distinct.values()]);
}
