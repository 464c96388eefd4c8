// The snapshotter's calls about group snapshots. Invalid responses become errors here. The transport has redacted every
// secret that was sent from the driver's error messages.

import { csiClient } from '../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import { GroupController, type VolumeGroupSnapshot } from '../../csi/generated/csi/v1/csi_pb.ts';
import type { GroupSnapshotHandle, SnapshotHandle, VolumeHandle } from '../../csi/names/driver-name.ts';
import type { CsiSecrets } from '../common/read-secret.ts';
import type { GroupFacts } from './group-content-status.ts';
import { nanosecondsOf } from './snapshot-calls.ts';
import { SnapshotProblem } from './snapshot-problem.ts';

export interface GroupRequest {
  name: string;
  volumeHandles: readonly VolumeHandle[];
  parameters: Record<string, string>;
  secrets: CsiSecrets | undefined;
}

/** A group snapshot and its members, as the driver names them. */
export interface GroupHandles {
  handle: GroupSnapshotHandle;
  snapshotHandles: readonly SnapshotHandle[];
}

export interface GroupCalls {
  create(request: GroupRequest, signal: AbortSignal): Promise<GroupFacts>;
  look(group: GroupHandles, secrets: CsiSecrets | undefined, signal: AbortSignal): Promise<GroupFacts>;
  delete(group: GroupHandles, secrets: CsiSecrets | undefined, signal: AbortSignal): Promise<void>;
}

export function createGroupCalls(options: { csi: CsiTransport; timeoutMs: number }): GroupCalls {
  const controller = csiClient(GroupController, options.csi, { timeoutMs: options.timeoutMs });
  const named = ({ handle, snapshotHandles }: GroupHandles, secrets: CsiSecrets | undefined) => ({
    groupSnapshotId: handle,
    snapshotIds: [...snapshotHandles],
    secrets: secrets?.reveal() ?? {},
  });
  return {
    async create({ name, volumeHandles, parameters, secrets }, signal) {
      const { groupSnapshot } = await controller.createVolumeGroupSnapshot(
        { name, sourceVolumeIds: [...volumeHandles], parameters, secrets: secrets?.reveal() ?? {} },
        { signal },
      );
      return factsOf('CreateVolumeGroupSnapshot', groupSnapshot);
    },
    async look(group, secrets, signal) {
      const { groupSnapshot } = await controller.getVolumeGroupSnapshot(named(group, secrets), { signal });
      return factsOf('GetVolumeGroupSnapshot', groupSnapshot);
    },
    async delete(group, secrets, signal) {
      await controller.deleteVolumeGroupSnapshot(named(group, secrets), { signal });
    },
  };
}

function factsOf(call: string, group: VolumeGroupSnapshot | undefined): GroupFacts {
  if (!group?.groupSnapshotId) {
    throw new SnapshotProblem(`${call} returned no group snapshot ID; it will be retried`);
  }
  return {
    handle: group.groupSnapshotId as GroupSnapshotHandle,
    ready: group.readyToUse,
    createdMs: group.creationTime && Number(nanosecondsOf(group.creationTime) / 1_000_000n),
    members: group.snapshots.map(({ sourceVolumeId, snapshotId, readyToUse, creationTime, sizeBytes }) => ({
      volumeHandle: sourceVolumeId,
      snapshotHandle: snapshotId,
      readyToUse,
      ...(creationTime && { creationTime: Number(nanosecondsOf(creationTime)) }),
      ...(sizeBytes > 0n && { restoreSize: Number(sizeBytes) }),
    })),
  };
}
