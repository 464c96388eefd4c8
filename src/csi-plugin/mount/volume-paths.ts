// Where everything lies below the kubelet's root directory, in the kubelet's own layout, so that drivers with fixed host
// paths and people who know it feel at home. Pure. Every name that comes from outside becomes exactly one path segment.

import { hash } from 'node:crypto';
import { join } from 'node:path';
import { escapeQualifiedName } from '../../csi/driver-name.ts';
import type { MountableVolume } from './mountable-volume.ts';

const PLUGIN = 'kubernetes.io/csi';
export const RECORD_FILE = 'vol_data.json';

/** Of one volume for one pod. */
export interface MountPaths {
  /** What NodePublishVolume is given. */
  target: string;
  /** Made by us before the driver makes the target in it. */
  parent: string;
  /** Holds the durable record. */
  recordDir: string;
}

/** Of one volume on the node. */
export interface DevicePaths {
  /** What NodeStageVolume is given; a directory that we make. */
  staging: string;
  recordDir: string;
}

export interface VolumePaths {
  readonly root: string;
  readonly pods: string;
  readonly pluginsRegistry: string;
  readonly plugins: string;
  /** `plugins/kubernetes.io/csi`: staged volumes, a directory a driver; and `volumeDevices`. */
  readonly pluginDir: string;
  readonly blockDir: string;
  podDir(podUid: string): string;
  /** Directories of a pod that hold one directory a volume, for filesystems and for block devices. */
  podVolumes(podUid: string): { filesystem: string; block: string };
  mount(podUid: string, volume: Pick<MountableVolume, 'specName' | 'block'>): MountPaths;
  device(volume: Pick<MountableVolume, 'driver' | 'handle' | 'specName' | 'block'>): DevicePaths;
}

export function volumePaths(root: string): VolumePaths {
  const pods = join(root, 'pods');
  const plugins = join(root, 'plugins');
  const pluginDir = join(plugins, PLUGIN);
  const blockDir = join(pluginDir, 'volumeDevices');
  const podVolumes = (podUid: string) => ({
    filesystem: join(pods, segment(podUid), 'volumes', escapeQualifiedName(PLUGIN)),
    block: join(pods, segment(podUid), 'volumeDevices', escapeQualifiedName(PLUGIN)),
  });
  return {
    root,
    pods,
    plugins,
    pluginDir,
    blockDir,
    pluginsRegistry: join(root, 'plugins_registry'),
    podDir: (podUid) => join(pods, segment(podUid)),
    podVolumes,
    mount(podUid, { specName, block }) {
      const directories = podVolumes(podUid);
      if (block) {
        const parent = join(blockDir, 'publish', segment(specName));
        return {
          target: join(parent, segment(podUid)),
          parent,
          recordDir: join(directories.block, segment(specName)),
        };
      }
      const recordDir = join(directories.filesystem, segment(specName));
      return { target: join(recordDir, 'mount'), parent: recordDir, recordDir };
    },
    device({ driver, handle, specName, block }) {
      if (block) {
        return {
          staging: join(blockDir, 'staging', segment(specName)),
          recordDir: join(blockDir, segment(specName), 'data'),
        };
      }
      const directory = join(pluginDir, segment(driver), hash('sha256', handle));
      return { staging: join(directory, 'globalmount'), recordDir: directory };
    },
  };
}

/** A name as one segment: nothing that comes from outside may climb out of its directory. */
function segment(name: string): string {
  const escaped = escapeQualifiedName(name);
  if (escaped === '' || escaped === '.' || escaped === '..' || escaped.includes('\0')) {
    throw new Error(`${JSON.stringify(name)} cannot be part of a path`);
  }
  return escaped;
}
