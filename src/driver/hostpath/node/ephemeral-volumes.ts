// Inline volumes: created by NodePublishVolume and deleted by NodeUnpublishVolume. The caller chooses the volume ID.

import { isQuantity, quantityToBytes } from '../../../api/quantity.ts';
import type { VolumeCapability } from '../../../csi/index.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { refuse } from '../../refuse.ts';
import { finishCreation } from '../controller/create-volume.ts';
import { planVolume } from '../controller/plan-volume.ts';
import { discardVolume } from '../controller/remove-volume.ts';
import { volumeLock } from '../core.ts';
import type { VolumeRecord } from '../state/records.ts';
import type { HostpathNode } from './node-core.ts';

const EPHEMERAL_KEY = 'csi.storage.k8s.io/ephemeral';

export function isEphemeralRequest(volumeContext: Readonly<Record<string, string>>): boolean {
  return volumeContext[EPHEMERAL_KEY] === 'true';
}

export interface EphemeralRequest {
  volumeId: VolumeHandle;
  volumeContext: Readonly<Record<string, string>>;
  volumeCapability: VolumeCapability;
}

/** The volume attributes of the pod are its parameters: `backing`, and `size` as a Kubernetes quantity. */
export async function ephemeralVolume(
  { core, nodeId }: HostpathNode,
  { volumeId, volumeContext, volumeCapability }: EphemeralRequest,
  signal: AbortSignal,
): Promise<VolumeRecord> {
  if (!core.can.ephemeral) throw refuse.invalidArgument('this driver has no ephemeral inline volumes');
  if (volumeCapability.accessType.case === 'block') {
    throw refuse.invalidArgument('an ephemeral inline volume cannot be raw block');
  }
  const record = core.store.transaction(() => {
    const existing = core.records.volumes.get(volumeId);
    if (existing !== undefined) {
      if (existing.ephemeralOn === nodeId) return existing;
      throw refuse.failedPrecondition(
        `volume ${volumeId} exists already, and is not an inline volume of this node`,
      );
    }
    const sizeBytes = sizeAttribute(volumeContext.size);
    const plan = planVolume(
      {
        name: volumeId,
        capacityRange: { requiredBytes: sizeBytes, limitBytes: 0n },
        volumeCapabilities: [volumeCapability],
        parameters: volumeContext,
        mutableParameters: {},
      },
      core,
    );
    const made: VolumeRecord = {
      id: volumeId,
      name: `inline ${volumeId}`,
      state: 'creating',
      ephemeralOn: nodeId,
      ...plan,
    };
    core.records.volumes.put(volumeId, made);
    return made;
  });
  return finishCreation(core, record, signal);
}

/** No-op for a volume that is not ephemeral. */
export async function removeEphemeral({ core, nodeId }: HostpathNode, volumeId: VolumeHandle): Promise<void> {
  if (core.records.volumes.get(volumeId)?.ephemeralOn !== nodeId) return;
  await core.locks.exclusive(volumeLock(volumeId), async () => {
    const volume = core.records.volumes.get(volumeId);
    if (volume === undefined) return;
    await core.step('ephemeral: mark deleting');
    core.records.volumes.put(volumeId, { ...volume, state: 'deleting' });
    await discardVolume(core, volume);
  });
}

function sizeAttribute(text: string | undefined): bigint {
  if (text === undefined) return 0n;
  if (!isQuantity(text) || quantityToBytes(text) <= 0n) {
    throw refuse.invalidArgument(
      `the volume attribute size is ${JSON.stringify(text)}, must be a size such as 64Mi`,
    );
  }
  return quantityToBytes(text);
}
