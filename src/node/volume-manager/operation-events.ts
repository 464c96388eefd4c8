// What a pod is told of a volume operation that did not succeed: reasons and messages are the kubelet's. Pure.

import type { Step } from './decide-volume.ts';
import type { Performed } from './operations.ts';

export type VolumeStep = Exclude<Step, { kind: 'wait-for-pod' }>;

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

/** Undefined where no pod is concerned. */
export function failureEvent(step: VolumeStep, why: string): PodEvent | undefined {
  if (step.kind === 'unmount-device') return undefined;
  const { reason, what } = OPERATIONS[step.kind];
  return { reason, message: `${what} failed for volume "${step.mount.volume.specName}" : ${why}` };
}

/** What the step needs is not there. `isLong`: for longer than that usually takes; until then it is not worth an event. */
export function waitEvent(
  step: VolumeStep,
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
