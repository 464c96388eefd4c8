// Checks before start-up whether this process can mount, and says what to do if not. A trial mount is more reliable
// than a check of capabilities.

import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openLinuxMounter } from './linux-mounter.ts';
import type { Mounter } from './mounter.ts';

/** Mounting is not possible: the message says why and what to do. */
class CannotMountError extends Error {
  override readonly name = 'CannotMountError';
}

/** For commands that users run: call it before creating any directory. */
export function checkUser(): void {
  if (process.platform !== 'linux') {
    throw new CannotMountError(
      `volumes are mounted as Linux does, and this is ${process.platform}; use a Linux machine, a virtual one or a container`,
    );
  }
  if (process.getuid?.() === 0) return;
  throw new CannotMountError(
    'mounting volumes needs root: run it with sudo, or with --rootless, which mounts in a namespace of its own',
  );
}

/** Of libuv's four threads; one is for hostpath's mounts, one for files. */
const MOUNT_THREADS = 2;

/** The mounter, after a trial mount below `directory`. */
export async function openTriedMounter(directory: string): Promise<Mounter> {
  const mounter = await openLinuxMounter({ threads: MOUNT_THREADS });
  const trial = join(directory, 'trial-mount');
  await mkdir(trial, { recursive: true });
  try {
    await mounter.bind(trial, trial);
    await mounter.unmount(trial);
  } catch (error) {
    throw new CannotMountError(
      `this process is root but may not mount (${(error as Error).message}); in a container, start it with ` +
        '--privileged, or with --cap-add SYS_ADMIN and without the seccomp profile that forbids mount',
      { cause: error },
    );
  } finally {
    await rmdir(trial).catch(() => {});
  }
  return mounter;
}
