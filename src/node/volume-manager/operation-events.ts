// The pod events of volume operations that did not succeed, with the kubelet's reasons and messages. Pure.

import type { Step } from './decide-volume.ts';
import type { Performed } from './operations.ts';

export type MountStep = Exclude<Step, { kind: 'wait-for-pod' }>;

export interface PodEvent {
  reason: string;
  message: string;
}

const OPERATIONS = {
  'tear-down': { reason: 'FailedUnMount', what: 'UnmountVolume.TearDown' },
  'mount-device': { reason: 'FailedMount', what: 'MountVolume.MountDevice' },
  'set-up': { reason: 'FailedMount', what: 'MountVolume.SetUp' },
  expand: { reason: 'VolumeResizeFailed', what: 'NodeExpandVolume' },
} as const;

/** Undefined for operations without a pod. */
export function failureEvent(step: MountStep, why: string): PodEvent | undefined {
  if (step.kind === 'unmount-device') return undefined;
  const { reason, what } = OPERATIONS[step.kind];
  return { reason, message: `${what} failed for volume "${step.mount.volume.specName}" : ${why}` };
}

/** A precondition of the step is missing. `isLong`: for longer than usual; before that there is no event. */
export function waitEvent(
  step: MountStep,
  result: Exclude<Performed, { kind: 'done' }>,
  isLong: boolean,
): PodEvent | undefined {
  if (step.kind === 'unmount-device') return undefined;
  switch (result.kind) {
    case 'no-driver':
      return isLong ? failureEvent(step, result.why) : undefined;
    case 'not-attached':
      return isLong ? { reason: 'FailedAttachVolume', message: result.why } : undefined;
    case 'attach-failed':
      return { reason: 'FailedAttachVolume', message: result.why };
    case 'wrong-node':
      return {
        reason: 'FailedMount',
        message: `MountVolume.NodeAffinity check failed for volume "${step.mount.volume.specName}" : no matching NodeSelectorTerms`,
      };
  }
}
