// The snapshotter's calls about single snapshots. Invalid responses become errors here. The transport has redacted every
// secret that was sent from the driver's error messages.

import { csiClient } from '../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import { Controller, type Snapshot } from '../../csi/generated/csi/v1/csi_pb.ts';
import type { ControllerCapability } from '../../csi/messages/capabilities.ts';
import type { GroupSnapshotHandle, SnapshotHandle, VolumeHandle } from '../../csi/names/driver-name.ts';
import type { CsiSecrets } from '../common/read-secret.ts';
import type { SnapshotFacts } from './content-status.ts';
import { SnapshotProblem } from './snapshot-problem.ts';

export interface CreateRequest {
  name: string;
  volumeHandle: VolumeHandle;
  parameters: Record<string, string>;
  secrets: CsiSecrets | undefined;
}

export interface SnapshotCalls {
  create(request: CreateRequest, signal: AbortSignal): Promise<SnapshotFacts>;
  look(handle: SnapshotHandle, secrets: CsiSecrets | undefined, signal: AbortSignal): Promise<SnapshotFacts>;
  delete(handle: SnapshotHandle, secrets: CsiSecrets | undefined, signal: AbortSignal): Promise<void>;
}

export function createSnapshotCalls(options: {
  csi: CsiTransport;
  timeoutMs: number;
  capabilities: ReadonlySet<ControllerCapability>;
}): SnapshotCalls {
  const { csi, timeoutMs, capabilities } = options;
  const controller = csiClient(Controller, csi, { timeoutMs });

  async function find(
    handle: SnapshotHandle,
    secrets: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Snapshot | undefined> {
    if (capabilities.has('LIST_SNAPSHOTS')) {
      const { entries } = await controller.listSnapshots({ snapshotId: handle, secrets }, { signal });
      return entries.find((entry) => entry.snapshot?.snapshotId === handle)?.snapshot;
    }
    return (await controller.getSnapshot({ snapshotId: handle, secrets }, { signal })).snapshot;
  }

  return {
    async create({ name, volumeHandle, parameters, secrets }, signal) {
      const { snapshot } = await controller.createSnapshot(
        { name, sourceVolumeId: volumeHandle, parameters, secrets: secrets?.reveal() ?? {} },
        { signal },
      );
      if (!snapshot?.snapshotId) {
        throw new SnapshotProblem('CreateSnapshot returned no snapshot ID; it will be retried');
      }
      return factsOf(snapshot);
    },

    async look(handle, secrets, signal) {
      // A driver without ListSnapshots or GetSnapshot cannot be asked: the snapshot is assumed to be ready.
      if (!capabilities.has('LIST_SNAPSHOTS') && !capabilities.has('GET_SNAPSHOT')) {
        return { handle, ready: true, createdNs: undefined, sizeBytes: 0n };
      }
      const snapshot = await find(handle, secrets?.reveal() ?? {}, signal);
      if (snapshot === undefined) throw new SnapshotProblem(`the driver does not know snapshot ${handle}`);
      return factsOf(snapshot);
    },

    async delete(handle, secrets, signal) {
      await controller.deleteSnapshot({ snapshotId: handle, secrets: secrets?.reveal() ?? {} }, { signal });
    },
  };
}

/** Since 1970. */
export function nanosecondsOf({ seconds, nanos }: { seconds: bigint; nanos: number }): bigint {
  return seconds * 1_000_000_000n + BigInt(nanos);
}

function factsOf({
  snapshotId,
  readyToUse,
  creationTime,
  sizeBytes,
  groupSnapshotId,
}: Snapshot): SnapshotFacts {
  return {
    handle: snapshotId as SnapshotHandle,
    ready: readyToUse,
    createdNs: creationTime && nanosecondsOf(creationTime),
    sizeBytes,
    ...(groupSnapshotId && { groupHandle: groupSnapshotId as GroupSnapshotHandle }),
  };
}
