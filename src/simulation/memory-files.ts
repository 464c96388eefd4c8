// The disk of one simulated node below the kubelet's root: directories, records and registration sockets, in memory. It
// knows the mount table, because a mounted directory can be neither removed nor listed away.

import { dirname } from 'node:path';
import { UnsafePathError, type VolumeFiles } from '../csi-plugin/mount/volume-files.ts';
import type { MemoryMounter } from '../runtime/mount/memory-mounter.ts';

type Kept = { kind: 'directory' } | { kind: 'file'; text: string } | { kind: 'socket'; identity: string };

export interface MemoryFiles extends VolumeFiles {
  /** Every path there is, sorted. */
  paths(): string[];
  /** A registrar made its socket (anew), or took it away. */
  setSocket(path: string, identity: string | undefined): void;
}

export function memoryFiles(mounter: MemoryMounter): MemoryFiles {
  const kept = new Map<string, Kept>();
  const watchers = new Map<string, Set<() => void>>();
  const changed = (path: string): void => {
    for (const tell of watchers.get(dirname(path)) ?? []) tell();
  };
  const children = (path: string): string[] => {
    const prefix = `${path}/`;
    const names: string[] = [];
    for (const each of kept.keys()) {
      if (each.startsWith(prefix) && !each.includes('/', prefix.length))
        names.push(each.slice(prefix.length));
    }
    return names.sort();
  };
  const isMounted = (path: string): boolean => mounter.mounts.some((entry) => entry.mountPoint === path);

  return {
    async makeDirectory(path) {
      for (let each = path; each !== '/' && each !== '.'; each = dirname(each)) {
        const there = kept.get(each);
        if (there?.kind === 'directory') break;
        if (there) throw new UnsafePathError(`${each} should be a directory and is a ${there.kind}`);
        kept.set(each, { kind: 'directory' });
      }
    },
    async kindOf(path) {
      const there = kept.get(path);
      if (there === undefined) return isMounted(path) ? 'directory' : 'absent';
      return there.kind === 'socket' ? 'other' : there.kind;
    },
    async removeDirectory(path) {
      const there = kept.get(path);
      if (there === undefined) return;
      if (there.kind !== 'directory') throw new UnsafePathError(`${path} is a ${there.kind}`);
      if (isMounted(path)) throw new Error(`EBUSY: ${path} is a mount point`);
      if (children(path).length > 0) throw new UnsafePathError(`${path} is not empty`);
      kept.delete(path);
    },
    async removeEmptyFile(path) {
      const there = kept.get(path);
      if (there === undefined) return;
      if (there.kind !== 'file' || there.text !== '') throw new UnsafePathError(`${path} is no empty file`);
      kept.delete(path);
    },
    async readRecord(path) {
      const there = kept.get(path);
      return there?.kind === 'file' ? there.text : undefined;
    },
    async writeRecord(path, text) {
      if (kept.get(dirname(path))?.kind !== 'directory') throw new Error(`ENOENT: ${path}`);
      kept.set(path, { kind: 'file', text });
    },
    async removeRecord(path) {
      kept.delete(path);
    },
    list: async (path) => children(path),
    async socketIdentity(path) {
      const there = kept.get(path);
      return there?.kind === 'socket' ? there.identity : undefined;
    },
    async changeGroup() {},
    watch(path, tell) {
      const own = () => tell();
      const all = watchers.get(path) ?? new Set();
      watchers.set(path, all.add(own));
      return () => all.delete(own);
    },
    paths: () => [...kept.keys()].sort(),
    setSocket(path, identity) {
      if (identity === undefined) kept.delete(path);
      else kept.set(path, { kind: 'socket', identity });
      changed(path);
    },
  };
}
