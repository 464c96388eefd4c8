// Builds a CreateVolume request from a plan and its secrets. Pure.

import type { CreateVolumeRequestSchema } from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { CsiSecrets } from '../../../csi/secrets/credentials.ts';
import type { MessageInitShape } from '../../../wire/protobuf/descriptor.ts';
import type { ContentSource, VolumePlan } from './plan-volume.ts';

export type CreateVolumeInit = MessageInitShape<typeof CreateVolumeRequestSchema>;

/** A request without its secrets, which are added only for the call. */
export type SecretlessRequest = Omit<CreateVolumeInit, 'secrets' | '$typeName'>;

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

export function withSecrets(request: SecretlessRequest, secrets: CsiSecrets | undefined): CreateVolumeInit {
  return secrets === undefined ? request : { ...request, secrets: secrets.reveal() };
}

function contentSource({ kind, id }: ContentSource) {
  return kind === 'snapshot'
    ? { type: { case: 'snapshot' as const, value: { snapshotId: id } } }
    : { type: { case: 'volume' as const, value: { volumeId: id } } };
}
