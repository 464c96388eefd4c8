// The port for hostpath's files: directories and images of volumes and snapshots, and the paths that volumes are
// published at. All operations are idempotent: creating what exists or removing what does not exist succeeds. Never
// used on a path while something is mounted on it.

import { execFile } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  type MakeDirectoryOptions,
  mkdirSync,
  readdirSync,
  rmdirSync,
  type Stats,
} from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  rename,
  rm,
  rmdir,
  stat,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { promisify } from 'node:util';
import { errorCode, MountError } from '../../../runtime/mount/mount-error.ts';
import type { Clock } from '../../../runtime/ports.ts';
import { whileFast } from '../../../runtime/time/while-fast.ts';
import { refuse } from '../../refuse.ts';

const run = promisify(execFile);

export type PathKind = 'absent' | 'directory' | 'file' | 'block' | 'symlink' | 'other';

/** An image that stays readable after its file was removed. */
export interface ImageReader {
  readonly sizeBytes: number;
  /** Fills the buffer from this position; resolves with the number of bytes, less than the buffer's only at the end. */
  read(into: Buffer, position: number): Promise<number>;
  close(): Promise<void>;
}

export interface VolumeFiles {
  /** Names in a directory; empty if it does not exist. */
  list(path: string): Promise<string[]>;
  kindOf(path: string): Promise<PathKind>;
  /** Creates a volume's directory, writable by everybody. */
  makeVolumeDirectory(path: string): Promise<void>;
  /** Creates a directory to mount on, with its parents. */
  makeDirectory(path: string): Promise<void>;
  /** Creates an empty file to mount on. */
  makeFile(path: string): Promise<void>;
  /** Creates a sparse file of this size. */
  makeImage(path: string, sizeBytes: bigint): Promise<void>;
  /** Never shrinks it. */
  growImage(path: string, sizeBytes: bigint): Promise<void>;
  /** Undefined if there is no such file. */
  openImage(path: string): Promise<ImageReader | undefined>;
  /** Copies a directory or an image to a path that does not exist; keeps owners, modes, links and holes. */
  copy(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes recursively. Never follows a link, never crosses into another filesystem. */
  removeTree(path: string): Promise<void>;
  /** Removes an empty directory; true also if it does not exist, false if it is not empty. */
  removeEmpty(path: string): Promise<boolean>;
  /** Removes the empty directory or file that a volume was mounted on; refuses to remove anything else. */
  removeMountPoint(path: string): Promise<void>;
}

export function diskFiles(clock: Clock): VolumeFiles {
  const atOnce = whileFast(clock);
  const make = atOnce(mkdirSync, mkdir) as (path: string, options?: MakeDirectoryOptions) => Promise<unknown>;
  const removeEmptyDirectory = atOnce<[string], void>(rmdirSync, rmdir);
  const look = atOnce<[string], Stats | undefined>(
    (path) => lstatSync(path, { throwIfNoEntry: false }),
    (path) => lstat(path),
  );
  const files: VolumeFiles = {
    async list(path) {
      try {
        return readdirSync(path);
      } catch (error) {
        if (isAbsent(error)) return [];
        throw error;
      }
    },

    async kindOf(path) {
      try {
        const stats = await look(path);
        if (stats === undefined) return 'absent';
        if (stats.isDirectory()) return 'directory';
        if (stats.isFile()) return 'file';
        if (stats.isBlockDevice()) return 'block';
        return stats.isSymbolicLink() ? 'symlink' : 'other';
      } catch (error) {
        if (isAbsent(error)) return 'absent';
        throw error;
      }
    },

    async makeVolumeDirectory(path) {
      try {
        await make(path);
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error;
      }
      // The umask limits the mode of mkdir.
      chmodSync(path, 0o777);
    },

    async makeDirectory(path) {
      await make(path, { recursive: true, mode: 0o750 });
    },

    async makeFile(path) {
      await (await open(path, 'a', 0o640)).close();
    },

    async makeImage(path, sizeBytes) {
      await writeFile(path, '', { mode: 0o600 });
      await truncate(path, Number(sizeBytes));
    },

    async growImage(path, sizeBytes) {
      const { size } = await stat(path, { bigint: true });
      if (size < sizeBytes) await truncate(path, Number(sizeBytes));
    },

    async openImage(path) {
      let file: FileHandle;
      try {
        file = await open(path, 'r');
      } catch (error) {
        if (isAbsent(error)) return undefined;
        throw error;
      }
      const { size } = await file.stat();
      return {
        sizeBytes: size,
        async read(into, position) {
          let length = 0;
          while (length < into.length) {
            const { bytesRead } = await file.read(into, length, into.length - length, position + length);
            if (bytesRead === 0) break;
            length += bytesRead;
          }
          return length;
        },
        close: () => file.close(),
      };
    },

    async copy(from, to) {
      // cp, since Node's copy keeps neither owners nor holes nor extended attributes.
      const args = [
        '--archive',
        '--reflink=auto',
        '--sparse=always',
        '--one-file-system',
        '-T',
        '--',
        from,
        to,
      ];
      try {
        await run('cp', args, { env: { ...process.env, LC_ALL: 'C' } });
      } catch (error) {
        const said = (error as { stderr?: string }).stderr?.trim().split('\n').at(-1);
        const detail =
          errorCode(error) === 'ENOENT'
            ? 'cp is not installed; it is in the package coreutils'
            : said || (error as Error).message;
        const code = /No space left/.test(detail)
          ? 'ENOSPC'
          : /quota exceeded/i.test(detail)
            ? 'EDQUOT'
            : 'EIO';
        throw new MountError({ operation: 'copy', path: from, code, detail, cause: error });
      }
    },

    rename,

    async removeTree(path) {
      // Most are empty: one call instead of a walk.
      if (await files.removeEmpty(path)) return;
      await rm(path, { recursive: true, force: true });
    },

    async removeEmpty(path) {
      try {
        await removeEmptyDirectory(path);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') return false;
      }
      return true;
    },

    async removeMountPoint(path) {
      try {
        // Directories first: the common case.
        await removeEmptyDirectory(path);
      } catch (error) {
        if (errorCode(error) === 'ENOTDIR' && (await isEmptyFile(path))) return unlink(path);
        if (errorCode(error) === 'ENOENT') return;
        if (['ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) {
          throw refuse.failedPrecondition(
            `${path} is not empty although nothing is mounted there; it is not removed, since it may be user data`,
          );
        }
        throw error;
      }
    },
  };
  return files;
}

async function isEmptyFile(path: string): Promise<boolean> {
  try {
    const stats = await lstat(path);
    return stats.isFile() && stats.size === 0;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR';
}
