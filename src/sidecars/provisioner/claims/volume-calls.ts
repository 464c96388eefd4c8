// The two calls of the provisioner.

import { csiClient } from '../../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../../csi/client/transport.ts';
import { Controller, type Volume } from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import type { CsiSecrets } from '../../../csi/secrets/credentials.ts';
import { type SecretlessRequest, withSecrets } from '../planning/create-volume-request.ts';

export interface VolumeCalls {
  create(
    request: SecretlessRequest,
    secrets: CsiSecrets | undefined,
    signal: AbortSignal,
  ): Promise<Volume | undefined>;
  delete(volumeId: VolumeHandle, secrets: CsiSecrets | undefined, signal: AbortSignal): Promise<void>;
}

export function volumeCalls(csi: CsiTransport, options: { timeoutMs: number }): VolumeCalls {
  const controller = csiClient(Controller, csi, options);
  return {
    async create(request, secrets, signal) {
      return (await controller.createVolume(withSecrets(request, secrets), { signal })).volume;
    },
    async delete(volumeId, secrets, signal) {
      await controller.deleteVolume({ volumeId, ...(secrets && { secrets: secrets.reveal() }) }, { signal });
    },
  };
}
