// VolumeFiles below a root on a disk, or in memory.

import { existsSync, lstatSync, realpathSync, watch as watchDirectory } from 'node:fs';
import { chmod, lchown, lstat, readdir, readFile, realpath, unlink } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { errorCode } from '../../runtime/mount/mount-error.ts';
import type { Clock } from '../../runtime/ports.ts';
import { fileChanges } from './file-changes.ts';
import { type PathKind, UnsafePathError, type VolumeFiles } from './volume-files.ts';

const READ_WRITE = 0o660;
const READ_WRITE_DIRECTORY = 0o770;
const SET_GROUP_ID = 0o2000;

export function diskFiles(root: string, clock: Clock): VolumeFiles {
  const change = fileChanges(clock);
  let realRoot: string | undefined;

  /** One realpath call detects a link among all parent directories. */
  async function makeBelow(realRoot: string, below: string): Promise<void> {
    const above = dirname(below);
    if (above !== '.' && !isRealDirectory(`${realRoot}/${above}`)) await makeBelow(realRoot, above);
    await makeOne(`${root}/${below}`);
  }

  async function makeOne(path: string): Promise<void> {
    try {
      await change.mkdir(path, { mode: 0o750 });
      return;
    } catch (error) {
      if (errorCode(error) === 'ENOTDIR') {
        throw new UnsafePathError(
          `${dirname(path)} should be a directory and is not; it is left alone, move it away`,
          { cause: error },
        );
      }
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    const kind = await kindOf(path);
    if (kind !== 'directory') {
      throw new UnsafePathError(
        `${path} should be a directory and is a ${kind}; it is left alone, move it away`,
      );
    }
  }

  return {
    async makeDirectory(path) {
      const below = relative(root, path);
      if (below === '..' || below.startsWith(`..${sep}`)) {
        throw new UnsafePathError(`${path} is outside of ${root}`);
      }
      if (realRoot === undefined) {
        await change.mkdir(root, { recursive: true, mode: 0o755 });
        realRoot = await realpath(root);
      }
      if (below !== '') await makeBelow(realRoot, below);
    },
    kindOf,
    async removeDirectory(path) {
      // Many are gone already, and an exception for each would cost ten times the check.
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
      try {
        // rmdir follows no link and removes only an empty directory.
        await change.rmdir(path);
      } catch (error) {
        const code = errorCode(error);
        if (code === 'ENOENT') return;
        if (code === 'ENOTDIR') {
          const kind = await kindOf(path);
          if (kind === 'absent') return;
          throw new UnsafePathError(
            `${path} should be a directory and is a ${kind}; it is left alone, move it away`,
          );
        }
        if (code === 'ENOTEMPTY' || code === 'EEXIST') {
          throw new UnsafePathError(
            `${path} is not empty though nothing is mounted there; its content is left alone, move it away`,
          );
        }
        throw error;
      }
    },
    async removeEmptyFile(path) {
      const kind = await kindOf(path);
      if (kind === 'absent') return;
      const size = kind === 'file' ? (await lstat(path)).size : undefined;
      if (size !== 0) {
        throw new UnsafePathError(
          `${path} should be an empty file and is not; it is left alone, move it away`,
        );
      }
      await unlink(path);
    },
    async readRecord(path) {
      try {
        return await readFile(path, 'utf8');
      } catch (error) {
        if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined;
        throw error;
      }
    },
    async writeRecord(path, text) {
      // No fsync: a power failure that loses the record also removes the mounts that it describes.
      const temporary = `${path}.new`;
      await change.writeFile(temporary, text, { mode: 0o600 });
      await change.rename(temporary, path);
    },
    async removeRecord(path) {
      if (existsSync(`${path}.new`)) await change.unlink(`${path}.new`);
      if (existsSync(path)) await change.unlink(path);
    },
    async list(path) {
      try {
        return (await readdir(path)).sort();
      } catch (error) {
        if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
        throw error;
      }
    },
    async socketIdentity(path) {
      try {
        const found = await lstat(path, { bigint: true });
        return found.isSocket() ? `${found.ino}-${found.birthtimeNs}-${found.mtimeNs}` : undefined;
      } catch (error) {
        if (errorCode(error) === 'ENOENT') return undefined;
        throw error;
      }
    },
    async changeGroup(path, { gid, onlyIfRootDiffers }, signal) {
      if (onlyIfRootDiffers && (await hasGroup(path, gid))) return;
      await changeBelow(path, gid, signal);
      // The root last, so that an interrupted change counts as not done.
      await changeOne(path, gid);
    },
    watch(path, changed) {
      const watcher = watchDirectory(path, { persistent: false }, () => changed());
      // The directory was removed; the next look creates and watches it again.
      watcher.on('error', () => changed());
      return () => watcher.close();
    },
  };
}

/** Synchronous, since a thread costs more than the call. Only for directories above every mount point. */
function isRealDirectory(path: string): boolean {
  // Many do not exist yet, and an exception for each would cost several times the check.
  if (!existsSync(path)) return false;
  try {
    return realpathSync.native(path) === path;
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}

async function kindOf(path: string): Promise<PathKind> {
  try {
    const found = await lstat(path);
    if (found.isSymbolicLink()) return 'symlink';
    if (found.isDirectory()) return 'directory';
    if (found.isFile()) return 'file';
    return found.isBlockDevice() ? 'device' : 'other';
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return 'absent';
    throw error;
  }
}

async function hasGroup(path: string, gid: number): Promise<boolean> {
  const found = await lstat(path);
  const wanted = READ_WRITE_DIRECTORY | SET_GROUP_ID;
  return found.gid === gid && (found.mode & wanted) === wanted;
}

async function changeBelow(path: string, gid: number, signal: AbortSignal): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    signal.throwIfAborted();
    const child = join(path, entry.name);
    if (entry.isDirectory()) await changeBelow(child, gid, signal);
    await changeOne(child, gid).catch((error: unknown) => {
      // Processes of the pod may remove files during the walk.
      if (errorCode(error) !== 'ENOENT') throw error;
    });
  }
}

async function changeOne(path: string, gid: number): Promise<void> {
  const found = await lstat(path);
  if (found.isSymbolicLink()) {
    await lchown(path, found.uid, gid);
    return;
  }
  await lchown(path, found.uid, gid);
  const mode = found.isDirectory()
    ? found.mode | READ_WRITE_DIRECTORY | SET_GROUP_ID
    : found.mode | READ_WRITE;
  await chmod(path, mode & 0o7777);
}
