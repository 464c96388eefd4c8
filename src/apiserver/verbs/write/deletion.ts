// The rules of deletion: grace periods, the finalizers of a propagation policy, and when an object that is being
// deleted is removed. Pure: works on private copies, stores nothing.

import type { KubeObject } from '../../../api/object.ts';
import { sameJson } from '../../../api/same-json.ts';
import type { Kind } from '../../kind.ts';
import { timestamp } from '../../timestamp.ts';

const ORPHAN_FINALIZER = 'orphan';
const FOREGROUND_FINALIZER = 'foregroundDeletion';
const DEFAULT_POD_GRACE_SECONDS = 30;

export interface DeleteParameters {
  gracePeriodSeconds?: number | undefined;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  preconditions?: { uid?: string; resourceVersion?: string } | undefined;
}

export type DeletionStep =
  | { kind: 'remove'; object: KubeObject }
  | { kind: 'mark'; object: KubeObject }
  /** The object is being deleted already, and this request does not shorten its grace period. */
  | { kind: 'wait' };

type PodLike = KubeObject & {
  spec?: { nodeName?: string; terminationGracePeriodSeconds?: number };
  status?: { phase?: string };
};
type NamespaceLike = KubeObject & { spec?: { finalizers?: string[] }; status?: { phase?: string } };

/** Being deleted, with no finalizer and no grace period left. */
export function isFinished(object: KubeObject, kind: Kind): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && !isHeld(object, kind);
}

function isHeld(object: KubeObject, kind: Kind): boolean {
  if ((object.metadata.finalizers ?? []).length > 0) return true;
  return isNamespace(kind) && ((object as NamespaceLike).spec?.finalizers ?? []).length > 0;
}

/** `object` is the current state; it and its metadata are private and mutated in place, nothing below them. */
export function decideDeletion(
  object: KubeObject,
  kind: Kind,
  parameters: DeleteParameters,
  nowMs: number,
): DeletionStep {
  const { metadata } = object;
  const graceSeconds = graceFor(object, kind, parameters);
  // Events are never owners.
  const isEvent = kind.plural === 'events';
  let changed = !isEvent && applyPropagation(object, parameters.propagationPolicy);
  const running = metadata.deletionTimestamp !== undefined;
  const runningGrace = metadata.deletionGracePeriodSeconds ?? 0;
  if (!running) {
    changed = true;
    metadata.deletionTimestamp = timestamp(nowMs + graceSeconds * 1000);
    if (metadata.generation !== undefined) metadata.generation++;
    if (isNamespace(kind)) {
      const namespace = object as NamespaceLike;
      namespace.status = { ...namespace.status, phase: 'Terminating' };
    } else metadata.deletionGracePeriodSeconds = graceSeconds;
  } else if (graceSeconds < runningGrace) {
    changed = true;
    // The start of a deletion stays the same: the deadline moves forward by the difference.
    const end = Date.parse(metadata.deletionTimestamp as string) - (runningGrace - graceSeconds) * 1000;
    metadata.deletionTimestamp = timestamp(graceSeconds === 0 ? Math.min(end, nowMs) : end);
    metadata.deletionGracePeriodSeconds = graceSeconds;
  }
  if (isFinished(object, kind)) return { kind: 'remove', object };
  return changed ? { kind: 'mark', object } : { kind: 'wait' };
}

function graceFor(object: KubeObject, kind: Kind, { gracePeriodSeconds }: DeleteParameters): number {
  if (kind.group !== '' || kind.plural !== 'pods') return 0;
  const { spec, status } = object as PodLike;
  // No process runs that would need the grace period.
  if (!spec?.nodeName || status?.phase === 'Failed' || status?.phase === 'Succeeded') return 0;
  const asked = gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? DEFAULT_POD_GRACE_SECONDS;
  return asked < 0 ? 1 : asked;
}

/** Returns whether that changed anything. */
function applyPropagation(object: KubeObject, policy: DeleteParameters['propagationPolicy']): boolean {
  if (policy === undefined) return false;
  const { metadata } = object;
  const before = metadata.finalizers ?? [];
  const others = before.filter((each) => each !== ORPHAN_FINALIZER && each !== FOREGROUND_FINALIZER);
  if (policy === 'Orphan') others.push(ORPHAN_FINALIZER);
  if (policy === 'Foreground') others.push(FOREGROUND_FINALIZER);
  if (others.length > 0) metadata.finalizers = others;
  else delete metadata.finalizers;
  return !sameJson(others, before);
}

function isNamespace(kind: Kind): boolean {
  return kind.group === '' && kind.plural === 'namespaces';
}
