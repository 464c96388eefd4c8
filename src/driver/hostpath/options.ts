// The options of hostpath. Each optional capability can be turned off, so that one driver can stand in for many: with
// `attach: false` it needs no attaching, and so on.

import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { Clock, Log, Random, SecretValue } from '../../runtime/ports.ts';
import type { FilesystemTools } from '../filesystem/filesystem-tools.ts';
import type { StateStore } from '../state/state-store.ts';
import type { HostLocks } from './state/host-locks.ts';
import type { VolumeFiles } from './state/volume-files.ts';

export const DEFAULT_DRIVER_NAME = 'hostpath.csi.berth';

/** The storage of a volume: a directory, or an image file behind a loop device, with a hard size limit. */
export type Backing = 'directory' | 'image';

/** Optional capabilities. All are on by default, except topology: it is on when a node has segments. */
export interface HostpathCapabilities {
  /** ControllerPublishVolume and ControllerUnpublishVolume. */
  attach: boolean;
  /** NodeStageVolume and NodeUnstageVolume. */
  stage: boolean;
  /** ControllerExpandVolume. */
  expand: boolean;
  /** NodeExpandVolume. */
  nodeExpand: boolean;
  snapshots: boolean;
  listSnapshots: boolean;
  getSnapshot: boolean;
  groupSnapshots: boolean;
  /** GetMetadataAllocated and GetMetadataDelta. */
  snapshotMetadata: boolean;
  clone: boolean;
  listVolumes: boolean;
  publishedNodes: boolean;
  volumeCondition: boolean;
  getVolume: boolean;
  getCapacity: boolean;
  modify: boolean;
  publishReadOnly: boolean;
  singleNodeMultiWriter: boolean;
  volumeStats: boolean;
  /** Raw block volumes. */
  block: boolean;
  /** Ephemeral inline volumes. */
  ephemeral: boolean;
  /** Whether a volume in use can be expanded. */
  onlineExpansion: boolean;
}

export const allCapabilities: HostpathCapabilities = {
  attach: true,
  stage: true,
  expand: true,
  nodeExpand: true,
  snapshots: true,
  listSnapshots: true,
  getSnapshot: true,
  groupSnapshots: true,
  snapshotMetadata: true,
  clone: true,
  listVolumes: true,
  publishedNodes: true,
  volumeCondition: true,
  getVolume: true,
  getCapacity: true,
  modify: true,
  publishReadOnly: true,
  singleNodeMultiWriter: true,
  volumeStats: true,
  block: true,
  ephemeral: true,
  onlineExpansion: true,
};

export interface HostpathSettings {
  /** Default `hostpath.csi.berth`. */
  driverName?: string;
  version?: string;
  /** Where volumes, snapshots and records are kept. Node instances that share it share their volumes. */
  stateDir: string;
  capabilities?: Partial<HostpathCapabilities>;
  /** The backing of volumes without the parameter `backing`; default `directory`. */
  backing?: Backing;
  /** Why raw block volumes and `backing: image` are refused; by default they are not. */
  noImages?: string;
  /** Room for all volumes and snapshots together (in each topology segment, when there are any). */
  capacityBytes?: bigint;
  maxVolumeBytes?: bigint;
  /** Parameters that ControllerModifyVolume accepts. */
  mutableParameters?: readonly string[];
  /** Keys and values that the secrets of every operation with secrets must contain. */
  requiredSecrets?: SecretValue<Readonly<Record<string, string>>>;
}

export interface HostpathPorts {
  clock: Clock;
  random: Random;
  log: Log;
  mounter: Mounter;
  /** Ports; the defaults are the real ones, below the state directory. */
  store?: StateStore;
  files?: VolumeFiles;
  tools?: FilesystemTools;
  locks?: HostLocks;
  /** Called before each side effect, with its name: crash tests kill the process here. */
  step?: (name: string) => void | Promise<void>;
}

export type HostpathOptions = HostpathSettings & HostpathPorts;

export interface HostpathNodeOptions {
  nodeId: string;
  /** The node's topology segments, e.g. `{ 'topology.hostpath.csi.berth/node': 'n1' }`. */
  topology?: Readonly<Record<string, string>>;
  /** The limit of volumes published to the node at once; default none. */
  maxVolumesPerNode?: number;
}
