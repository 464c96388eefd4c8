// The shared core of hostpath: settings with defaults, ports, records, and the layout on disk. One core serves the
// controller and any number of nodes of the machine.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type {
  DriverName,
  GroupSnapshotHandle,
  NodeId,
  SnapshotHandle,
  VolumeHandle,
} from '../../csi/names/driver-name.ts';
import type { FilesystemTools } from '../filesystem/filesystem-tools.ts';
import { refuse } from '../refuse.ts';
import type { StateStore } from '../state/state-store.ts';
import type { HostpathCapabilities, HostpathOptions, HostpathSettings } from './options.ts';
import type { HostLocks } from './state/host-locks.ts';
import type { Records, VolumeRecord } from './state/records.ts';
import type { VolumeFiles } from './state/volume-files.ts';

export interface HostpathCore extends HostpathOptions {
  readonly driverName: DriverName;
  readonly can: HostpathCapabilities;
  readonly store: StateStore;
  readonly records: Records;
  readonly files: VolumeFiles;
  readonly tools: FilesystemTools;
  readonly locks: HostLocks;
  readonly layout: Layout;
  readonly step: (name: string) => void | Promise<void>;
}

export type Layout = ReturnType<typeof layoutOf>;

export function layoutOf({ stateDir }: Pick<HostpathSettings, 'stateDir'>) {
  const unfinished = (path: string) => `${path}.unfinished`;
  return {
    volumes: join(stateDir, 'volumes'),
    snapshots: join(stateDir, 'snapshots'),
    mounts: join(stateDir, 'mounts'),
    database: join(stateDir, 'state.db'),
    lockFile: join(stateDir, 'lock'),
    /** A directory or an image, by the record's backing. */
    volume: (id: VolumeHandle) => join(stateDir, 'volumes', safeName(id)),
    /** While this file exists, the volume is reported as ill. */
    ill: (id: VolumeHandle) => join(stateDir, 'ill', safeName(id)),
    snapshot: (id: SnapshotHandle) => join(stateDir, 'snapshots', safeName(id)),
    /** Copies are written here and renamed when complete. */
    unfinished,
    /** The driver's own mount of an image for a node, when the caller does not stage. */
    ownMount: (nodeId: NodeId, volumeId: VolumeHandle) =>
      join(stateDir, 'mounts', safeName(nodeId), safeName(volumeId)),
  };
}

/** IDs come from callers: one that is not safe as a file name is replaced by its hash. */
function safeName(id: string): string {
  return /^[a-z0-9][a-z0-9-]{0,127}$/.test(id) ? id : `hash-${createHash('sha256').update(id).digest('hex')}`;
}

/** The volume, if it exists and is ready. */
export function existingVolume(core: HostpathCore, volumeId: VolumeHandle): VolumeRecord {
  const volume = core.records.volumes.get(volumeId);
  if (volume === undefined || volume.state !== 'ready')
    throw refuse.notFound(`volume ${volumeId} does not exist`);
  return volume;
}

/** Compares secrets; never puts their values in a message. */
export function checkSecrets(
  core: HostpathCore,
  secrets: { reveal(): Readonly<Record<string, string>> },
): void {
  const required = core.requiredSecrets?.reveal();
  if (required === undefined) return;
  const given = secrets.reveal();
  const wrong = Object.keys(required).filter((key) => given[key] !== required[key]);
  if (wrong.length > 0) {
    throw refuse.unauthenticated(
      `the secret's ${wrong.map((key) => JSON.stringify(key)).join(', ')} is missing or wrong; check the secret that the storage class or the volume names`,
    );
  }
}

/**
 * Names of the locks of host-locks.ts. Lock order: a group, then its snapshots, then their volume, then its source.
 * Never the reverse.
 */
export const groupLock = (groupSnapshotId: GroupSnapshotHandle): string =>
  `group snapshot ${groupSnapshotId}`;
export const volumeLock = (volumeId: VolumeHandle): string => `volume ${volumeId}`;
export const snapshotLock = (snapshotId: SnapshotHandle): string => `snapshot ${snapshotId}`;
