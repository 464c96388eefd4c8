// Paths below the kubelet's root directory, in the kubelet's layout, because drivers mount fixed host paths. Pure.
// Every name from outside becomes exactly one path segment.

import { hash } from 'node:crypto';
import { join } from 'node:path';
import { escapeQualifiedName } from '../../csi/names/driver-name.ts';
import type { MountableVolume } from './mountable-volume.ts';

const PLUGIN = 'kubernetes.io/csi';
const PLUGIN_SEGMENT = escapeQualifiedName(PLUGIN);
export const RECORD_FILE = 'vol_data.json';

/** Paths of one volume for one pod. */
export interface MountPaths {
  /** The target path of NodePublishVolume. */
  target: string;
  /** Created by the node; the driver creates the target in it. */
  parent: string;
  /** Holds the durable record. */
  recordDir: string;
}

/** Paths of one volume on the node. */
export interface DevicePaths {
  /** The staging path of NodeStageVolume; a directory created by the node. */
  staging: string;
  recordDir: string;
}

export interface VolumePaths {
  readonly root: string;
  readonly pods: string;
  readonly pluginsRegistry: string;
  readonly plugins: string;
  /** `plugins/kubernetes.io/csi`: staged volumes, one directory per driver; and `volumeDevices`. */
  readonly pluginDir: string;
  readonly blockDir: string;
  podDir(podUid: string): string;
  /** Directories of a pod with one directory per volume, for filesystems and for block devices. */
  podVolumes(podUid: string): { filesystem: string; block: string };
  mount(podUid: string, volume: Pick<MountableVolume, 'specName' | 'block'>): MountPaths;
  device(volume: Pick<MountableVolume, 'driver' | 'handle' | 'specName' | 'block'>): DevicePaths;
}

/** Plain concatenation instead of `path.join`: the segments are validated, and this runs often. */
export function volumePaths(root: string): VolumePaths {
  const pods = join(root, 'pods');
  const plugins = join(root, 'plugins');
  const pluginDir = join(plugins, PLUGIN);
  const blockDir = join(pluginDir, 'volumeDevices');
  const podDir = (podUid: string) => `${pods}/${segment(podUid)}`;
  const filesystemDir = (podUid: string) => `${podDir(podUid)}/volumes/${PLUGIN_SEGMENT}`;
  const podBlockDir = (podUid: string) => `${podDir(podUid)}/volumeDevices/${PLUGIN_SEGMENT}`;
  return {
    root,
    pods,
    plugins,
    pluginDir,
    blockDir,
    pluginsRegistry: join(root, 'plugins_registry'),
    podDir,
    podVolumes: (podUid) => ({ filesystem: filesystemDir(podUid), block: podBlockDir(podUid) }),
    mount(podUid, { specName, block }) {
      if (block) {
        const parent = `${blockDir}/publish/${segment(specName)}`;
        return {
          target: `${parent}/${segment(podUid)}`,
          parent,
          recordDir: `${podBlockDir(podUid)}/${segment(specName)}`,
        };
      }
      const recordDir = `${filesystemDir(podUid)}/${segment(specName)}`;
      return { target: `${recordDir}/mount`, parent: recordDir, recordDir };
    },
    device({ driver, handle, specName, block }) {
      if (block) {
        return {
          staging: `${blockDir}/staging/${segment(specName)}`,
          recordDir: `${blockDir}/${segment(specName)}/data`,
        };
      }
      const directory = `${pluginDir}/${segment(driver)}/${hash('sha256', handle)}`;
      return { staging: `${directory}/globalmount`, recordDir: directory };
    },
  };
}

/** Validates a name as one path segment, against path traversal. */
function segment(name: string): string {
  const escaped = escapeQualifiedName(name);
  if (escaped === '' || escaped === '.' || escaped === '..' || escaped.includes('\0')) {
    throw new Error(`${JSON.stringify(name)} cannot be part of a path`);
  }
  return escaped;
}
