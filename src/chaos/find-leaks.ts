// Compares what the storage lists with what the cluster knows: volumes and snapshots that nobody would ever delete, and objects
// whose storage is gone. The one place that decides what a scenario calls a leak.

import { persistentVolumes, volumeAttachments, volumeSnapshotContents } from '../api/kinds.ts';
import type { Reader } from '../apiserver/pipeline.ts';
import type { Abilities } from '../check/driver-under-test.ts';
import { listed } from '../check/volume-checks.ts';
import { csiClient } from '../csi/client/csi-client.ts';
import type { CsiTransport } from '../csi/client/transport.ts';
import { Controller } from '../csi/generated/csi/v1/csi_pb.ts';

export interface LeakSearch {
  readonly driver: string;
  /** To the controller service, past all faults. */
  readonly controller: CsiTransport;
  readonly can: Pick<Abilities, 'controller'>;
  readonly reader: Reader;
}

/** IDs that the storage listed; undefined where the driver does not list them. */
export interface Listing {
  readonly volumes: ReadonlySet<string> | undefined;
  readonly snapshots: ReadonlySet<string> | undefined;
}

const LIST_MS = 10_000;

export async function listStorage({ controller, can }: LeakSearch): Promise<Listing> {
  const client = csiClient(Controller, controller, { timeoutMs: LIST_MS });
  const snapshots = async (): Promise<ReadonlySet<string>> => {
    const ids = new Set<string>();
    let startingToken = '';
    do {
      const { entries, nextToken } = await client.listSnapshots({ startingToken });
      for (const { snapshot } of entries) ids.add(snapshot?.snapshotId ?? '');
      // A token that comes back would be followed for ever.
      if (nextToken === startingToken) break;
      startingToken = nextToken;
    } while (startingToken !== '');
    return ids;
  };
  return {
    volumes: can.controller.has('LIST_VOLUMES')
      ? new Set(await listed({ controller: client }, 0))
      : undefined,
    snapshots: can.controller.has('LIST_SNAPSHOTS') ? await snapshots() : undefined,
  };
}

/** In words, one a finding. `before`: what the storage had when the scenario began. */
export async function findLeaks(search: LeakSearch, before: Listing): Promise<string[]> {
  const { reader, driver } = search;
  const now = await listStorage(search);
  const handles = new Map(
    [...reader.list(persistentVolumes)].flatMap(({ metadata, spec }) =>
      spec.csi?.driver === driver ? [[spec.csi.volumeHandle as string, metadata.name] as const] : [],
    ),
  );
  const taken = new Set(
    [...reader.list(volumeSnapshotContents)].flatMap(({ status, spec }) => [
      status?.snapshotHandle ?? '',
      spec.source.snapshotHandle ?? '',
    ]),
  );
  const volumeNames = new Set(handles.values());
  return [
    ...[...(now.volumes ?? [])]
      .filter((id) => !before.volumes?.has(id) && !handles.has(id))
      .map((id) => `volume ${id} is in the storage, and no PersistentVolume has it`),
    ...[...(now.snapshots ?? [])]
      .filter((id) => !before.snapshots?.has(id) && !taken.has(id))
      .map((id) => `snapshot ${id} is in the storage, and no VolumeSnapshotContent has it`),
    ...[...handles]
      .filter(([id]) => now.volumes && !now.volumes.has(id))
      .map(([id, name]) => `PersistentVolume ${name} has volume ${id}, which the storage does not list`),
    ...[...reader.list(volumeAttachments)]
      .filter(({ spec }) => {
        const volume = spec.source.persistentVolumeName;
        return spec.attacher === driver && volume !== undefined && !volumeNames.has(volume);
      })
      .map(({ metadata }) => `VolumeAttachment ${metadata.name} is for a PersistentVolume that is gone`),
  ];
}
