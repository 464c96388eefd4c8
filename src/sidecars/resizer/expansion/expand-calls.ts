// ControllerExpandVolume with its secrets, or no call at all for a driver that expands volumes on the node alone.

import type { PersistentVolume } from '../../../api/kinds.ts';
import { formatQuantity, quantityFromBytes, quantityToBytes } from '../../../api/quantity.ts';
import { csiClient } from '../../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../../csi/client/transport.ts';
import { Controller } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { volumeCapability } from '../../../csi/messages/volume-capability.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { readSecret } from '../../common/read-secret.ts';

/** A problem as a message for the user; whether the driver did anything is unknown. */
export class ExpansionProblem extends Error {
  override readonly name = 'ExpansionProblem';
}

export interface GrownVolume {
  capacity: string;
  nodeExpansionRequired: boolean;
}

export interface ExpandCalls {
  /** Everything but the call itself: an error thrown here means that the driver was not called. */
  prepare(volume: PersistentVolume, signal: AbortSignal): Promise<(size: string) => Promise<GrownVolume>>;
}

export interface ExpandCallsOptions {
  kube: KubeClient;
  csi: CsiTransport;
  timeoutMs: number;
  /** The driver has SINGLE_NODE_MULTI_WRITER. */
  singleNodeMultiWriter: boolean;
}

export function controllerExpandCalls(options: ExpandCallsOptions): ExpandCalls {
  const { kube, csi, timeoutMs, singleNodeMultiWriter } = options;
  const controller = csiClient(Controller, csi, { timeoutMs });
  return {
    async prepare({ spec }, signal) {
      const { volumeHandle: volumeId = '', fsType, controllerExpandSecretRef } = spec.csi ?? {};
      const capability = volumeCapability({
        accessModes: spec.accessModes ?? [],
        volumeMode: spec.volumeMode,
        fsType,
        mountFlags: spec.mountOptions,
        singleNodeMultiWriter,
      });
      const secrets = controllerExpandSecretRef
        ? (await readSecret(kube, controllerExpandSecretRef, { signal })).reveal()
        : {};
      return async (size) => {
        const requiredBytes = quantityToBytes(size);
        const answer = await controller.controllerExpandVolume(
          { volumeId, capacityRange: { requiredBytes }, volumeCapability: capability, secrets },
          { signal },
        );
        if (answer.capacityBytes < requiredBytes) {
          throw new ExpansionProblem(
            `the driver expanded volume ${volumeId} to ${answer.capacityBytes} bytes; ` +
              `${requiredBytes} were requested`,
          );
        }
        return {
          capacity: formatQuantity(quantityFromBytes(answer.capacityBytes)),
          nodeExpansionRequired: answer.nodeExpansionRequired,
        };
      };
    },
  };
}

/** No call: the node does everything. */
export const nodeOnlyExpandCalls: ExpandCalls = {
  prepare: async () => async (size) => ({ capacity: size, nodeExpansionRequired: true }),
};
