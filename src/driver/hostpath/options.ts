// Everything about hostpath that can be chosen. Each optional capability can be taken away, so that one driver can play
// many: with `attach: false` it is one that needs no attaching, and so on.

import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { Clock, Log, Random, SecretValue } from '../../runtime/ports.ts';
import type { FilesystemTools } from '../filesystem/filesystem-tools.ts';
import type { StateStore } from '../state/state-store.ts';
import type { HostLocks } from './state/host-locks.ts';
import type { VolumeFiles } from './state/volume-files.ts';

export const DEFAULT_DRIVER_NAME = 'hostpath.csi.berth';

/** How a volume is kept: a directory, or an image file behind a loop device, with a hard size limit. */
export type Backing = 'directory' | 'image';

/** Optional capabilities. All there unless taken away, topology excepted: it is there when a node has segments. */
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
  /** Inline volumes that live and die with their pod. */
  ephemeral: boolean;
  /** Whether a volume in use can grow. */
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
  /** `hostpath.csi.berth` unless told. */
  driverName?: string;
  version?: string;
  /** Where volumes, snapshots and records are kept. Node instances that share it share their volumes. */
  stateDir: string;
  capabilities?: Partial<HostpathCapabilities>;
  /** What volumes are made of when the parameter `backing` does not say. `directory` unless told. */
  backing?: Backing;
  /** Room for all volumes and snapshots together (in each topology segment, when there are any). */
  capacityBytes?: bigint;
  maxVolumeBytes?: bigint;
  /** Names that ControllerModifyVolume takes. */
  mutableParameters?: readonly string[];
  /** Keys and values that must be among the secrets of every operation that takes secrets. */
  requiredSecrets?: SecretValue<Readonly<Record<string, string>>>;
}

export interface HostpathPorts {
  clock: Clock;
  random: Random;
  log: Log;
  mounter: Mounter;
  /** The rest defaults to the real thing below the state directory. */
  store?: StateStore;
  files?: VolumeFiles;
  tools?: FilesystemTools;
  locks?: HostLocks;
  /** Called between any two changes of the world, with the name of the next: crash tests stop the process here. */
  step?: (name: string) => void | Promise<void>;
}

export type HostpathOptions = HostpathSettings & HostpathPorts;

export interface HostpathNodeOptions {
  nodeId: string;
  /** Where the node is, e.g. `{ 'topology.hostpath.csi.berth/node': 'n1' }`. */
  topology?: Readonly<Record<string, string>>;
  /** Volumes that can be published to the node at once; no limit unless told. */
  maxVolumesPerNode?: number;
}
