// The Mounter for Linux. Chooses the system calls for each operation (system-calls.ts) and reads the mount table.
// Stateless: the kernel's mount table is the source of truth.

import { execFile } from 'node:child_process';
import { lstat, open, readFile, realpath, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { loopDevices } from './loop-devices.ts';
import { commandSystemCalls } from './mount-command.ts';
import { errorCode, isCorruptedMountError, MountError } from './mount-error.ts';
import { MS, PER_MOUNT_FLAGS, parseMountOptions, propagationFlags } from './mount-options.ts';
import type {
  BindOptions,
  FilesystemMount,
  Mounter,
  MountPropagation,
  PathState,
  UnmountOptions,
} from './mounter.ts';
import { findMountinfo, parseMountinfo } from './mountinfo.ts';
import {
  bindSystemCalls,
  MNT_DETACH,
  MNT_FORCE,
  type SystemCallOptions,
  type SystemCalls,
  UMOUNT_NOFOLLOW,
} from './system-calls.ts';

const run = promisify(execFile);

const MOUNTINFO = '/proc/self/mountinfo';
const SECTOR_BYTES = 512n;
// More mounts than are ever stacked; guards against an unmount that reports success and does nothing.
const STACK_LIMIT = 128;

/** System calls if the binding loads here, mount(8) otherwise. */
export async function openSystemCalls(options?: SystemCallOptions): Promise<SystemCalls> {
  try {
    return await bindSystemCalls(options);
  } catch {
    return commandSystemCalls();
  }
}

export async function openLinuxMounter(options?: SystemCallOptions): Promise<Mounter> {
  return linuxMounter(await openSystemCalls(options));
}

export function linuxMounter(calls: SystemCalls): Mounter {
  const isMountPoint = async (path: string): Promise<boolean> => {
    const peeked = calls.peek(path);
    if (peeked !== undefined) return peeked === 'mounted';
    try {
      const answer = await calls.isMountRoot(path);
      if (answer !== undefined) return answer;
      return (await mountsAt(path)).length > 0;
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return false;
      if (isCorruptedMountError(error)) return (await mountsAt(path)).length > 0;
      throw error;
    }
  };

  return {
    async bind(source, target, options = {}) {
      await bind(calls, source, target, options);
    },

    async mount({ source, target, fsType, options = [] }: FilesystemMount) {
      const { flags, data, propagation } = parseMountOptions(options);
      await calls.mount({
        operation: `mount ${fsType} ${source} at`,
        source,
        target,
        fsType,
        flags,
        data: data || null,
      });
      await propagate(calls, target, propagation);
    },

    async remount(target, options) {
      const { flags, cleared, propagation } = parseMountOptions(options);
      await remountBind(calls, target, { set: flags, cleared });
      await propagate(calls, target, propagation);
    },

    async unmount(target, options = {}) {
      await unmountAll(calls, target, options);
    },

    async list() {
      return parseMountinfo(await readFile(MOUNTINFO, 'utf8'));
    },

    mountsAt,
    isMountPoint,

    async inspect(path): Promise<PathState> {
      const peeked = calls.peek(path);
      if (peeked === 'absent' || peeked === 'plain') return peeked;
      try {
        const isRoot = await calls.isMountRoot(path, { ask: true });
        if (isRoot !== undefined) return isRoot ? 'mounted' : 'plain';
        await lstat(path);
      } catch (error) {
        if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return 'absent';
        if (isCorruptedMountError(error)) return 'corrupted';
        throw error;
      }
      return (await isMountPoint(path)) ? 'mounted' : 'plain';
    },

    async usage(path) {
      const answer = await statfs(path, { bigint: true });
      return {
        totalBytes: answer.blocks * answer.bsize,
        availableBytes: answer.bavail * answer.bsize,
        usedBytes: (answer.blocks - answer.bfree) * answer.bsize,
        totalInodes: answer.files,
        freeInodes: answer.ffree,
        usedInodes: answer.files - answer.ffree,
      };
    },

    async sizeOf(path) {
      const answer = await stat(path, { bigint: true });
      if (answer.isFile()) return answer.size;
      if (!answer.isBlockDevice()) {
        throw new MountError({ operation: 'read size of', path, code: 'ENOTBLK' });
      }
      const sectors = await readFile(
        `/sys/dev/block/${major(answer.rdev)}:${minor(answer.rdev)}/size`,
        'utf8',
      );
      return BigInt(sectors.trim()) * SECTOR_BYTES;
    },

    freeze: (path) => freezeOrThaw(calls, path, { freeze: true }),
    thaw: (path) => freezeOrThaw(calls, path, { freeze: false }),

    loop: loopDevices(calls),
  };
}

async function mountsAt(path: string) {
  return findMountinfo(await readFile(MOUNTINFO, 'utf8'), await tablePath(path));
}

/** The path as in the mount table. The last component is not resolved: a mount point is not a symbolic link. */
async function tablePath(path: string): Promise<string> {
  if (path === '/') return path;
  const parent = await realpath(dirname(path)).catch(() => dirname(path));
  return join(parent, basename(path));
}

/** mount(2) ignores other flags when it creates a bind mount; read-only and the like need a remount. */
async function bind(calls: SystemCalls, source: string, target: string, options: BindOptions): Promise<void> {
  const recursive = options.recursive ? MS.REC : 0;
  const operation = `bind-mount ${source} at`;
  await calls.mount({ operation, source, target, fsType: null, flags: MS.BIND | recursive, data: null });
  const wanted = parseMountOptions([...(options.options ?? []), ...(options.readOnly ? ['ro'] : [])]);
  try {
    if ((wanted.flags & PER_MOUNT_FLAGS) !== 0 || wanted.cleared !== 0) {
      await remountBind(calls, target, { set: wanted.flags, cleared: wanted.cleared });
    }
    await propagate(calls, target, options.propagation ?? wanted.propagation);
  } catch (error) {
    // Never leave a writable mount that should be read-only.
    await calls.unmount(target, UMOUNT_NOFOLLOW | MNT_DETACH);
    throw error;
  }
}

async function remountBind(
  calls: SystemCalls,
  target: string,
  change: { set: number; cleared: number },
): Promise<void> {
  // A remount replaces all flags of the mount, so the unchanged ones are repeated.
  const current = parseMountOptions((await mountsAt(target)).at(-1)?.options ?? []).flags & PER_MOUNT_FLAGS;
  const flags = (current & ~change.cleared) | (change.set & PER_MOUNT_FLAGS);
  const operation = 'remount';
  await calls.mount({
    operation,
    source: null,
    target,
    fsType: null,
    flags: MS.REMOUNT | MS.BIND | flags,
    data: null,
  });
}

async function propagate(
  calls: SystemCalls,
  target: string,
  propagation: MountPropagation | undefined,
): Promise<void> {
  if (propagation === undefined) return;
  const flags = propagationFlags(propagation);
  await calls.mount({
    operation: `make ${propagation}`,
    source: null,
    target,
    fsType: null,
    flags,
    data: null,
  });
}

async function unmountAll(calls: SystemCalls, target: string, options: UnmountOptions): Promise<void> {
  const flags = UMOUNT_NOFOLLOW | (options.lazy ? MNT_DETACH : 0) | (options.force ? MNT_FORCE : 0);
  for (let depth = 0; depth < STACK_LIMIT; depth += 1) {
    const peeked = calls.peek(target);
    if (peeked === 'absent' || peeked === 'plain') return;
    try {
      await calls.unmount(target, flags);
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT' || code === 'ENOTDIR') return;
      // EINVAL: not a mount point, or a mount that belongs to another namespace.
      if (code === 'EINVAL' && (depth > 0 || (await mountsAt(target)).length === 0)) return;
      throw error;
    }
  }
  throw new MountError({
    operation: 'unmount',
    path: target,
    code: 'EBUSY',
    detail: `still a mount point after ${STACK_LIMIT} unmounts`,
  });
}

const FIFREEZE = 0xc0045877;
const FITHAW = 0xc0045878;

async function freezeOrThaw(
  calls: SystemCalls,
  path: string,
  { freeze }: { freeze: boolean },
): Promise<void> {
  // EBUSY: frozen already; EINVAL: not frozen.
  const harmless = freeze ? 'EBUSY' : 'EINVAL';
  if (calls.ioctl === undefined) {
    await run('fsfreeze', [freeze ? '--freeze' : '--unfreeze', path]).catch((error: { stderr?: string }) => {
      if (!/busy|Invalid argument/i.test(error.stderr ?? '')) throw error;
    });
    return;
  }
  const handle = await open(path, 'r');
  try {
    await calls.ioctl(handle.fd, freeze ? FIFREEZE : FITHAW, 0);
  } catch (error) {
    if (errorCode(error) !== harmless) throw error;
  } finally {
    await handle.close();
  }
}

// How Linux packs a device number.
function major(device: bigint): bigint {
  return ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
}

function minor(device: bigint): bigint {
  return (device & 0xffn) | ((device >> 12n) & ~0xffn);
}
