// The two calls of the attacher, with the secrets they need. Says what went wrong in a form that is fit for a status:
// the transport has taken every secret that was sent out of the driver's words.

import { csiClient } from '../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import { Controller } from '../../csi/generated/csi/v1/csi_pb.ts';
import { volumeCapability } from '../../csi/messages/volume-capability.ts';
import type { NodeId } from '../../csi/names/driver-name.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { readSecret } from '../common/read-secret.ts';
import type { PublishedVolume, SecretName, VolumeToPublish } from './volume-source.ts';

export interface PublishCallsOptions {
  kube: KubeClient;
  csi: CsiTransport;
  timeoutMs: number;
  /** The driver has PUBLISH_READONLY. */
  publishesReadOnly: boolean;
  /** The driver has SINGLE_NODE_MULTI_WRITER. */
  singleNodeMultiWriter: boolean;
  defaultFsType: string;
}

export interface PublishCalls {
  /** Everything but the call itself: what throws here has asked nothing of the driver. */
  preparePublish(
    volume: VolumeToPublish,
    nodeId: NodeId,
    signal: AbortSignal,
  ): Promise<() => Promise<Record<string, string>>>;
  unpublish(volume: PublishedVolume, nodeId: NodeId, signal: AbortSignal): Promise<void>;
}

export function createPublishCalls(options: PublishCallsOptions): PublishCalls {
  const { kube, csi, timeoutMs } = options;
  const controller = csiClient(Controller, csi, { timeoutMs });

  const secretsOf = async (secret: SecretName | undefined, signal: AbortSignal) =>
    secret === undefined ? {} : (await readSecret(kube, secret, { signal })).reveal();

  return {
    async preparePublish(volume, nodeId, signal) {
      const capability = volumeCapability({
        accessModes: volume.accessModes,
        volumeMode: volume.volumeMode,
        fsType: volume.fsType || options.defaultFsType,
        mountFlags: volume.mountOptions,
        singleNodeMultiWriter: options.singleNodeMultiWriter,
      });
      const secrets = await secretsOf(volume.secret, signal);
      return async () => {
        const answer = await controller.controllerPublishVolume(
          {
            volumeId: volume.handle,
            nodeId,
            volumeCapability: capability,
            // The specification wants false from who speaks to a driver without the capability.
            readonly: volume.readOnly && options.publishesReadOnly,
            volumeContext: volume.attributes,
            secrets,
          },
          { signal },
        );
        return answer.publishContext;
      };
    },

    async unpublish(volume, nodeId, signal) {
      const secrets = await secretsOf(volume.secret, signal);
      await controller.controllerUnpublishVolume({ volumeId: volume.handle, nodeId, secrets }, { signal });
    },
  };
}
