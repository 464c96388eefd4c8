// hostpath's files in memory. With memoryMounter, an in-memory store and processLocks the driver runs without touching
// the machine, for simulations and unit tests. Everything resolves at once, so virtual time does not advance.

import { basename, dirname } from 'node:path';
import { MountError } from '../../../runtime/mount/mount-error.ts';
import type { DeviceContent } from '../../filesystem/detect-content.ts';
import type { FilesystemTools } from '../../filesystem/filesystem-tools.ts';
import type { PathKind, VolumeFiles } from './volume-files.ts';

export interface MemoryFiles extends VolumeFiles {
  /** Entries by path. */
  readonly paths: ReadonlyMap<string, { kind: PathKind; sizeBytes: bigint }>;
}

export function memoryFiles(): MemoryFiles {
  const paths = new Map<string, { kind: PathKind; sizeBytes: bigint }>();
  const missing = (operation: string, path: string) => new MountError({ operation, path, code: 'ENOENT' });
  const existing = (operation: string, path: string) => {
    const found = paths.get(path);
    if (found === undefined) throw missing(operation, path);
    return found;
  };
  return {
    paths,
    list: async (path) =>
      [...paths.keys()].filter((each) => dirname(each) === path).map((each) => basename(each)),
    kindOf: async (path) => paths.get(path)?.kind ?? 'absent',
    async makeVolumeDirectory(path) {
      if (!paths.has(path)) paths.set(path, { kind: 'directory', sizeBytes: 0n });
    },
    async makeDirectory(path) {
      if (!paths.has(path)) paths.set(path, { kind: 'directory', sizeBytes: 0n });
    },
    async makeFile(path) {
      if (!paths.has(path)) paths.set(path, { kind: 'file', sizeBytes: 0n });
    },
    async makeImage(path, sizeBytes) {
      paths.set(path, { kind: 'file', sizeBytes });
    },
    async growImage(path, sizeBytes) {
      const image = existing('grow', path);
      if (image.sizeBytes < sizeBytes) paths.set(path, { ...image, sizeBytes });
    },
    async openImage(path) {
      const image = paths.get(path);
      if (image === undefined) return undefined;
      const sizeBytes = Number(image.sizeBytes);
      return {
        sizeBytes,
        async read(into, position) {
          const length = Math.max(0, Math.min(into.length, sizeBytes - position));
          into.fill(0, 0, length);
          return length;
        },
        close: async () => {},
      };
    },
    async copy(from, to) {
      paths.set(to, { ...existing('copy', from) });
    },
    async rename(from, to) {
      paths.set(to, existing('rename', from));
      paths.delete(from);
    },
    async removeTree(path) {
      paths.delete(path);
    },
    async removeEmpty(path) {
      paths.delete(path);
      return true;
    },
    async removeMountPoint(path) {
      paths.delete(path);
    },
  };
}

/** Filesystems in memory: a device is blank until it is formatted. Devices are identified by name only. */
export function memoryFilesystemTools(): FilesystemTools {
  const formatted = new Map<string, string>();
  return {
    detect: async (device): Promise<DeviceContent> => {
      const fsType = formatted.get(device);
      return fsType === undefined ? 'blank' : { fsType };
    },
    format: async (device, fsType) => void formatted.set(device, fsType),
    check: async () => {},
    growUnmounted: async () => true,
    grow: async () => {},
  };
}
