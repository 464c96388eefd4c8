// Builds a CreateVolume request from a plan. Pure.

import type { SecretlessRequest } from '../claims/volume-calls.ts';
import type { ContentSource, VolumePlan } from './plan-volume.ts';

export function createVolumeRequest(plan: VolumePlan): SecretlessRequest {
  return {
    name: plan.volumeName,
    capacityRange: { requiredBytes: plan.capacityBytes },
    volumeCapabilities: [...plan.capabilities],
    parameters: { ...plan.parameters },
    mutableParameters: { ...plan.mutableParameters },
    ...(plan.source && { volumeContentSource: contentSource(plan.source) }),
    ...(plan.topology && {
      accessibilityRequirements: {
        requisite: plan.topology.requisite.map((segments) => ({ segments })),
        preferred: plan.topology.preferred.map((segments) => ({ segments })),
      },
    }),
  };
}

function contentSource({ kind, id }: ContentSource) {
  return kind === 'snapshot'
    ? { type: { case: 'snapshot' as const, value: { snapshotId: id } } }
    : { type: { case: 'volume' as const, value: { volumeId: id } } };
}
