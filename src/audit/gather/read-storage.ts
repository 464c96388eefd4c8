// Reads what a driver says it has: its name, its capabilities, all volumes and all snapshots. Reads only.

import { csiClient } from '../../csi/client/csi-client.ts';
import { getDriverName } from '../../csi/client/probe.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import { codeOf } from '../../csi/csi-error.ts';
import { Controller } from '../../csi/generated/csi/v1/csi_pb.ts';
import {
  type ControllerCapability,
  controllerCapabilities,
  type GroupControllerCapability,
  groupControllerCapabilities,
  pluginCapabilities,
} from '../../csi/messages/capabilities.ts';
import type { StorageFacts, StorageSnapshot, StorageVolume } from '../facts.ts';
import { ListingError, listPages } from './list-pages.ts';

export interface StorageReader {
  readonly csi: CsiTransport;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

type Can = ReadonlySet<ControllerCapability | GroupControllerCapability>;

export async function readStorage({ csi, timeoutMs, signal }: StorageReader): Promise<StorageFacts> {
  const call = { timeoutMs, signal };
  const driver = await getDriverName(csi, call);
  const { services } = await pluginCapabilities(csi, call);
  const can: Can = new Set([
    ...(services.has('CONTROLLER_SERVICE') ? await controllerCapabilities(csi, call) : []),
    ...(services.has('GROUP_CONTROLLER_SERVICE') ? await groupControllerCapabilities(csi, call) : []),
  ]);
  const problems: string[] = [];
  const listed = async <T>(list: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await list();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ListingError)) throw error;
      problems.push(error.message);
      return undefined;
    }
  };
  const client = csiClient(Controller, csi, call);
  const volumes = can.has('LIST_VOLUMES') ? await listed(() => readVolumes(client, can, call)) : undefined;
  const snapshots = can.has('LIST_SNAPSHOTS') ? await listed(() => readSnapshots(client, call)) : undefined;
  const limits: string[] = [];
  if (!can.has('LIST_VOLUMES'))
    limits.push('the driver lacks LIST_VOLUMES: volumes and attachments cannot be compared with its storage');
  if (can.has('CREATE_DELETE_SNAPSHOT') && !can.has('LIST_SNAPSHOTS'))
    limits.push('the driver lacks LIST_SNAPSHOTS: snapshots cannot be compared');
  if (
    can.has('LIST_VOLUMES') &&
    can.has('PUBLISH_UNPUBLISH_VOLUME') &&
    !can.has('LIST_VOLUMES_PUBLISHED_NODES')
  )
    limits.push('the driver lacks LIST_VOLUMES_PUBLISHED_NODES: attachments cannot be compared');
  return { driver, can, volumes, snapshots, limits, problems };
}

type Client = ReturnType<typeof csiClient<typeof Controller, CsiTransport>>;
interface Call {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

async function readVolumes(client: Client, can: Can, call: Call): Promise<Map<string, StorageVolume>> {
  const saysWhere = can.has('LIST_VOLUMES_PUBLISHED_NODES');
  const volumes = new Map<string, StorageVolume>();
  for (const { volume, status } of await listPages('ListVolumes', (startingToken) =>
    client.listVolumes({ startingToken }, call),
  )) {
    const id = volume?.volumeId ?? '';
    if (volume === undefined || id === '') throw new ListingError('ListVolumes lists a volume without an ID');
    if (volumes.has(id)) throw twice('ListVolumes', id);
    volumes.set(id, {
      id,
      bytes: volume.capacityBytes,
      publishedOn: saysWhere && status ? status.publishedNodeIds.toSorted() : undefined,
      context: volume.volumeContext,
    });
  }
  return volumes;
}

async function readSnapshots(client: Client, call: Call): Promise<Map<string, StorageSnapshot>> {
  const snapshots = new Map<string, StorageSnapshot>();
  for (const { snapshot } of await listPages('ListSnapshots', (startingToken) =>
    client.listSnapshots({ startingToken }, call),
  )) {
    const id = snapshot?.snapshotId ?? '';
    if (snapshot === undefined || id === '')
      throw new ListingError('ListSnapshots lists a snapshot without an ID');
    if (snapshots.has(id)) throw twice('ListSnapshots', id);
    const { creationTime: at } = snapshot;
    snapshots.set(id, {
      id,
      source: snapshot.sourceVolumeId,
      bytes: snapshot.sizeBytes,
      createdMs: at && Number(at.seconds) * 1000 + at.nanos / 1e6,
      group: snapshot.groupSnapshotId,
    });
  }
  return snapshots;
}

/** Pages that overlap may as well leave something out. */
const twice = (method: string, id: string): ListingError =>
  new ListingError(
    `${method} lists ${JSON.stringify(id)} twice: its pages overlap, and may leave others out`,
  );

/** What the driver says of one volume that it does not list; undefined where it cannot be asked. */
export async function knowsVolume(
  { csi, timeoutMs, signal }: StorageReader,
  can: StorageFacts['can'],
  volumeId: string,
): Promise<boolean | undefined> {
  if (!can.has('GET_VOLUME')) return undefined;
  return answers(csiClient(Controller, csi, { timeoutMs }).controllerGetVolume({ volumeId }, { signal }));
}

/** The same of one snapshot. Every driver that lists snapshots can be asked for one. */
export async function knowsSnapshot(
  { csi, timeoutMs, signal }: StorageReader,
  snapshotId: string,
): Promise<boolean | undefined> {
  const client = csiClient(Controller, csi, { timeoutMs });
  const found = client
    .listSnapshots({ snapshotId }, { signal })
    .then(({ entries }) => entries.some(({ snapshot }) => snapshot?.snapshotId === snapshotId) || undefined);
  return (await answers(found)) ?? false;
}

async function answers(call: Promise<unknown>): Promise<boolean | undefined> {
  try {
    return (await call) === undefined ? undefined : true;
  } catch (error) {
    if (codeOf(error) === 'NOT_FOUND') return false;
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}
