// Parses mount options (`ro,noatime,data=ordered`) for mount(2): flag bits, data for the filesystem, and propagation,
// which needs a separate call. Pure.

import type { MountPropagation } from './mounter.ts';

export const MS = {
  RDONLY: 0x1,
  NOSUID: 0x2,
  NODEV: 0x4,
  NOEXEC: 0x8,
  SYNCHRONOUS: 0x10,
  REMOUNT: 0x20,
  MANDLOCK: 0x40,
  DIRSYNC: 0x80,
  NOSYMFOLLOW: 0x100,
  NOATIME: 0x400,
  NODIRATIME: 0x800,
  BIND: 0x1000,
  REC: 0x4000,
  SILENT: 0x8000,
  UNBINDABLE: 0x20000,
  PRIVATE: 0x40000,
  SLAVE: 0x80000,
  SHARED: 0x100000,
  RELATIME: 0x200000,
  STRICTATIME: 0x1000000,
  LAZYTIME: 0x2000000,
} as const;

/** Per-mount flags, which a bind remount can change; others belong to the filesystem. */
export const PER_MOUNT_FLAGS =
  MS.RDONLY | MS.NOSUID | MS.NODEV | MS.NOEXEC | MS.NOATIME | MS.NODIRATIME | MS.RELATIME | MS.NOSYMFOLLOW;

const setters: Record<string, number> = {
  ro: MS.RDONLY,
  nosuid: MS.NOSUID,
  nodev: MS.NODEV,
  noexec: MS.NOEXEC,
  sync: MS.SYNCHRONOUS,
  remount: MS.REMOUNT,
  mand: MS.MANDLOCK,
  dirsync: MS.DIRSYNC,
  nosymfollow: MS.NOSYMFOLLOW,
  noatime: MS.NOATIME,
  nodiratime: MS.NODIRATIME,
  bind: MS.BIND,
  rbind: MS.BIND | MS.REC,
  silent: MS.SILENT,
  relatime: MS.RELATIME,
  strictatime: MS.STRICTATIME,
  lazytime: MS.LAZYTIME,
};

const clearers: Record<string, number> = {
  rw: MS.RDONLY,
  suid: MS.NOSUID,
  dev: MS.NODEV,
  exec: MS.NOEXEC,
  async: MS.SYNCHRONOUS,
  nomand: MS.MANDLOCK,
  symfollow: MS.NOSYMFOLLOW,
  atime: MS.NOATIME,
  diratime: MS.NODIRATIME,
  loud: MS.SILENT,
  norelatime: MS.RELATIME,
  nostrictatime: MS.STRICTATIME,
  nolazytime: MS.LAZYTIME,
};

const propagations = new Set<string>([
  'private',
  'rprivate',
  'shared',
  'rshared',
  'slave',
  'rslave',
  'unbindable',
] satisfies MountPropagation[]);

// Options of mount(8) and /etc/fstab; the kernel does not know them.
const ignored = new Set([
  'defaults',
  'auto',
  'noauto',
  'user',
  'nouser',
  'owner',
  'group',
  '_netdev',
  'nofail',
]);

export interface ParsedMountOptions {
  flags: number;
  /** Flags that an option turns off explicitly (`rw`, `exec`). */
  cleared: number;
  propagation: MountPropagation | undefined;
  /** For the filesystem, e.g. `data=ordered,discard`. */
  data: string;
}

/** The last option wins, as with mount(8). One string may hold several options, separated by commas. */
export function parseMountOptions(options: readonly string[]): ParsedMountOptions {
  let flags = 0;
  let cleared = 0;
  let propagation: MountPropagation | undefined;
  const data: string[] = [];
  for (const option of options.flatMap(splitOptions)) {
    const set = setters[option];
    const clear = clearers[option];
    if (set !== undefined) {
      flags |= set;
      cleared &= ~set;
    } else if (clear !== undefined) {
      flags &= ~clear;
      cleared |= clear;
    } else if (propagations.has(option)) {
      propagation = option as MountPropagation;
    } else if (!ignored.has(option)) {
      data.push(option);
    }
  }
  return { flags, cleared, propagation, data: data.join(',') };
}

/** Splits at commas outside double quotes (SELinux contexts hold commas). */
function splitOptions(options: string): string[] {
  return (
    options
      .match(/(?:"[^"]*"|[^,"])+/g)
      ?.map((option) => option.trim())
      .filter(Boolean) ?? []
  );
}

export function propagationFlags(propagation: MountPropagation): number {
  const recursive = propagation.startsWith('r') ? MS.REC : 0;
  const kind = recursive === 0 ? propagation : propagation.slice(1);
  if (kind === 'private') return MS.PRIVATE | recursive;
  if (kind === 'shared') return MS.SHARED | recursive;
  if (kind === 'slave') return MS.SLAVE | recursive;
  return MS.UNBINDABLE;
}
