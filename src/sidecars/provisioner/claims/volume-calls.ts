// The calls of the provisioner to the driver's controller.

import type { Segment } from '../../../api/topology.ts';
import { csiClient } from '../../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../../csi/client/transport.ts';
import {
  Controller,
  type CreateVolumeRequestSchema,
  type GetCapacityResponse,
  type Volume,
  type VolumeCapability,
} from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import type { CsiSecrets } from '../../../csi/secrets/credentials.ts';
import type { MessageInitShape } from '../../../wire/protobuf/descriptor.ts';

/** A request without its secrets, which are added only for the call. */
export type SecretlessRequest = Omit<
  MessageInitShape<typeof CreateVolumeRequestSchema>,
  'secrets' | '$typeName'
>;

export type FreeCapacity = Pick<GetCapacityResponse, 'availableCapacity' | 'maximumVolumeSize'>;

export interface CapacityQuestion {
  parameters: Readonly<Record<string, string>>;
  capabilities?: readonly VolumeCapability[];
  /** Undefined or empty: anywhere. */
  segment: Segment | undefined;
}

export type VolumeCalls = ReturnType<typeof volumeCalls>;

export function volumeCalls(csi: CsiTransport, options: { timeoutMs: number }) {
  const controller = csiClient(Controller, csi, options);
  const withSecrets = <T extends object>(request: T, secrets: CsiSecrets | undefined) =>
    secrets ? { ...request, secrets: secrets.reveal() } : request;
  return {
    async create(
      request: SecretlessRequest,
      secrets: CsiSecrets | undefined,
      signal: AbortSignal,
    ): Promise<Volume | undefined> {
      return (await controller.createVolume(withSecrets(request, secrets), { signal })).volume;
    },
    async delete(
      volumeId: VolumeHandle,
      secrets: CsiSecrets | undefined,
      signal: AbortSignal,
    ): Promise<void> {
      await controller.deleteVolume(withSecrets({ volumeId }, secrets), { signal });
    },
    freeCapacity(
      { parameters, capabilities = [], segment = {} }: CapacityQuestion,
      signal: AbortSignal,
    ): Promise<FreeCapacity> {
      const isAnywhere = Object.keys(segment).length === 0;
      const place = isAnywhere ? {} : { accessibleTopology: { segments: segment } };
      return controller.getCapacity(
        { parameters: { ...parameters }, volumeCapabilities: [...capabilities], ...place },
        { signal },
      );
    },
  };
}
