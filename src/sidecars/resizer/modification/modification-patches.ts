// The resizer's merge patches of a claim and a volume during a modification. Pure.

import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimCondition,
} from '../../../api/kinds.ts';
import { CsiError } from '../../../csi/csi-error.ts';

const LONGEST_MESSAGE = 1024;

type ModifyState = 'Pending' | 'InProgress' | 'Infeasible';
type Condition = PersistentVolumeClaimCondition & { type: 'ModifyingVolume' | 'ModifyVolumeError' };

function claimPatch({ metadata: { uid, resourceVersion } }: PersistentVolumeClaim, status: object): object {
  return { metadata: { uid, resourceVersion }, status };
}

const modifyStatus = (status: ModifyState, target: string): object => ({
  modifyVolumeStatus: { status, targetVolumeAttributesClassName: target },
});

/** Other conditions are kept; a transition time is set when a condition changes. */
function withConditions(
  { status }: PersistentVolumeClaim,
  conditions: readonly Omit<Condition, 'lastTransitionTime'>[],
  now: string,
): PersistentVolumeClaimCondition[] {
  const before = status?.conditions ?? [];
  const next = conditions.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const isSame = old?.status === condition.status && old.reason === condition.reason;
    return {
      ...condition,
      lastProbeTime: now,
      lastTransitionTime: (isSame && old.lastTransitionTime) || now,
    };
  });
  return [...before.filter(({ type }) => !next.some((each) => each.type === type)), ...next];
}

function withoutConditions(claim: PersistentVolumeClaim, ...types: Condition['type'][]): object {
  const kept = (claim.status?.conditions ?? []).filter(({ type }) => !types.includes(type as never));
  return { conditions: kept.length > 0 ? kept : null };
}

const modifying = (message: string) => ({ type: 'ModifyingVolume', status: 'True', message }) as const;

/** The class cannot be used (yet): the driver is not called. Undefined when the claim shows that already. */
export function pendingPatch(claim: PersistentVolumeClaim, target: string): object | undefined {
  const { status, targetVolumeAttributesClassName } = claim.status?.modifyVolumeStatus ?? {};
  if (status === 'Pending' && targetVolumeAttributesClassName === target) return undefined;
  return claimPatch(claim, modifyStatus('Pending', target));
}

/** Before the driver is called. */
export function beginPatch(claim: PersistentVolumeClaim, target: string, now: string): object {
  const conditions = withConditions(
    claim,
    [modifying(`Applying the attributes of ${target} to the volume`)],
    now,
  );
  return claimPatch(claim, { ...modifyStatus('InProgress', target), conditions });
}

/** When the driver was last called, or answered. Tells the calls of several resizers apart. */
export const calledAt = ({ status }: PersistentVolumeClaim): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'ModifyingVolume')?.lastProbeTime;

export function failurePatch(
  claim: PersistentVolumeClaim,
  target: string,
  failure: { error: Error; infeasible: boolean; isFinal: boolean; now: string },
): object {
  const { error, infeasible, isFinal, now } = failure;
  const text = error instanceof CsiError ? error.description : error.message;
  const conditions = withConditions(
    claim,
    [
      modifying(
        isFinal
          ? `The attributes of ${target} were rejected by the driver; retrying`
          : `The outcome of applying the attributes of ${target} is unknown; retrying`,
      ),
      {
        type: 'ModifyVolumeError',
        status: 'True',
        reason: error instanceof CsiError ? goName(error.code) : 'Unknown',
        message: text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)} […]` : text,
      },
    ],
    now,
  );
  return claimPatch(claim, { ...modifyStatus(infeasible ? 'Infeasible' : 'InProgress', target), conditions });
}

/** `InvalidArgument`: the spelling of codes in this field. */
function goName(code: string): string {
  if (code === 'CANCELLED') return 'Canceled';
  return code
    .split('_')
    .map((word) => `${word.charAt(0)}${word.slice(1).toLowerCase()}`)
    .join('');
}

export function finishPatch(claim: PersistentVolumeClaim, target: string): object {
  return claimPatch(claim, {
    modifyVolumeStatus: null,
    currentVolumeAttributesClassName: target,
    ...withoutConditions(claim, 'ModifyingVolume', 'ModifyVolumeError'),
  });
}

export function cancelPatch(claim: PersistentVolumeClaim): object {
  return claimPatch(claim, withoutConditions(claim, 'ModifyingVolume'));
}

/** Undefined when the volume is so already. Only over the version it was decided on: late, it would replace a newer class. */
export function modifiedVolumePatch(volume: PersistentVolume, target: string): object | undefined {
  if (volume.spec.volumeAttributesClassName === target) return undefined;
  const { uid, resourceVersion } = volume.metadata;
  return { metadata: { uid, resourceVersion }, spec: { volumeAttributesClassName: target } };
}
