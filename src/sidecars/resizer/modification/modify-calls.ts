// ControllerModifyVolume with its secrets: the ones that the provisioner recorded for it, else those of expansion.

import type {
  PersistentVolume,
  PersistentVolumeClaim,
  SecretReference,
  VolumeAttributesClass,
} from '../../../api/kinds.ts';
import {
  ANN_MODIFY_SECRET_NAME,
  ANN_MODIFY_SECRET_NAMESPACE,
  KEY_PV_NAME,
  KEY_PVC_NAME,
  KEY_PVC_NAMESPACE,
} from '../../../api/well-known.ts';
import { csiClient } from '../../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../../csi/client/transport.ts';
import { Controller } from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { readSecret } from '../../common/read-secret.ts';

export interface Modification {
  claim: PersistentVolumeClaim;
  volume: PersistentVolume;
  attributes: VolumeAttributesClass;
}

export interface ModifyCalls {
  /** Everything but the call itself: an error thrown here means that the driver was not called. */
  prepare(modification: Modification, signal: AbortSignal): Promise<() => Promise<void>>;
}

export interface ModifyCallsOptions {
  kube: KubeClient;
  csi: CsiTransport;
  timeoutMs: number;
  /** Pass the names of claim and volume to the driver beside the parameters. */
  extraMetadata: boolean;
}

export function createModifyCalls({ kube, csi, timeoutMs, extraMetadata }: ModifyCallsOptions): ModifyCalls {
  const controller = csiClient(Controller, csi, { timeoutMs });
  return {
    async prepare({ claim, volume, attributes }, signal) {
      const reference = secretOf(volume);
      const secrets = reference ? (await readSecret(kube, reference, { signal })).reveal() : {};
      const mutableParameters = {
        ...attributes.parameters,
        ...(extraMetadata && {
          [KEY_PVC_NAME]: claim.metadata.name,
          [KEY_PVC_NAMESPACE]: claim.metadata.namespace ?? '',
          [KEY_PV_NAME]: volume.metadata.name,
        }),
      };
      const volumeId = volume.spec.csi?.volumeHandle ?? '';
      return async () => {
        await controller.controllerModifyVolume({ volumeId, secrets, mutableParameters }, { signal });
      };
    },
  };
}

function secretOf({ metadata: { annotations = {} }, spec }: PersistentVolume): SecretReference | undefined {
  const name = annotations[ANN_MODIFY_SECRET_NAME];
  const namespace = annotations[ANN_MODIFY_SECRET_NAMESPACE];
  return name && namespace ? { name, namespace } : spec.csi?.controllerExpandSecretRef;
}
