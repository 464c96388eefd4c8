// Expansion in a claim's status: the states and conditions by which resizer and nodes agree whose turn it is. Pure.

import type { PersistentVolumeClaim, PersistentVolumeClaimCondition } from './kinds.ts';
import { compareQuantities } from './quantity.ts';

/** Values of `status.allocatedResourceStatuses.storage`. */
export type ExpansionState =
  | 'ControllerResizeInProgress'
  | 'ControllerResizeInfeasible'
  | 'NodeResizePending'
  | 'NodeResizeInProgress'
  | 'NodeResizeInfeasible';

/** The condition types of expansion; all others are left alone. */
export type ResizeCondition =
  | 'Resizing'
  | 'FileSystemResizePending'
  | 'ControllerResizeError'
  | 'NodeResizeError';

const RESIZE_CONDITIONS: ReadonlySet<string> = new Set<ResizeCondition>([
  'Resizing',
  'FileSystemResizePending',
  'ControllerResizeError',
  'NodeResizeError',
]);

type Claim = Pick<PersistentVolumeClaim, 'spec' | 'status'>;

export const requestedSize = ({ spec }: Claim): string => spec.resources?.requests?.storage ?? '0';

/** The current capacity. */
export const currentSize = ({ status }: Claim): string => status?.capacity?.storage ?? '0';

/** The size of the last expansion begun; undefined when there was none. */
export const allocatedSize = ({ status }: Claim): string | undefined => status?.allocatedResources?.storage;

export const expansionState = ({ status }: Claim): ExpansionState | undefined =>
  status?.allocatedResourceStatuses?.storage as ExpansionState | undefined;

/** Bound, and smaller than requested. */
export function wantsExpansion(claim: Claim): boolean {
  return (
    claim.status?.phase === 'Bound' &&
    Boolean(claim.spec.volumeName) &&
    compareQuantities(requestedSize(claim), currentSize(claim)) > 0
  );
}

export function hasCondition({ status }: Claim, type: string): boolean {
  return (status?.conditions ?? []).some((each) => each.type === type && each.status === 'True');
}

interface ConditionChange {
  /** Added, or replaces the one of its type. */
  set?: PersistentVolumeClaimCondition | undefined;
  /** Types to remove; `all`: all of expansion. */
  drop?: 'all' | readonly ResizeCondition[];
}

export function changedConditions(
  { status }: Claim,
  { set, drop = [] }: ConditionChange,
): PersistentVolumeClaimCondition[] {
  const goes = (type: string): boolean =>
    drop === 'all' ? RESIZE_CONDITIONS.has(type) : drop.includes(type as ResizeCondition);
  const kept = (status?.conditions ?? []).filter(({ type }) => type === set?.type || !goes(type));
  if (set === undefined) return kept;
  const before = kept.find(({ type }) => type === set.type);
  if (before === undefined) return [...kept, set];
  // The transition time stays when the status does not change.
  const isSame = before.status === set.status && before.message === set.message;
  const { lastTransitionTime = set.lastTransitionTime } = before;
  const next = isSame ? { ...before, ...set, ...(lastTransitionTime && { lastTransitionTime }) } : set;
  return kept.map((each) => (each === before ? next : each));
}

/** Merge patch of the status: the capacity is this size, and no expansion is in progress. */
export function grownStatus(claim: Claim, capacity: string): object {
  const conditions = changedConditions(claim, { drop: 'all' });
  const states = claim.status?.allocatedResourceStatuses;
  const others = Object.keys(states ?? {}).filter((resource) => resource !== 'storage');
  return {
    capacity: { storage: capacity },
    conditions: conditions.length > 0 ? conditions : null,
    ...(states && { allocatedResourceStatuses: others.length > 0 ? { storage: null } : null }),
  };
}
