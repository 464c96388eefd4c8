// The system calls by way of util-linux programs, for platforms where the native binding does not load. It starts a
// process per call, and has no ioctl and no byte locks; otherwise behaviour and errno are the same.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { errorMessage } from '../error-message.ts';
import { MountError } from './mount-error.ts';
import { MS } from './mount-options.ts';
import { MNT_DETACH, MNT_FORCE, type MountCall, type SystemCalls } from './system-calls.ts';

const run = promisify(execFile);

export function commandSystemCalls(): SystemCalls {
  return {
    async mount(call) {
      await runProgram(call.operation, call.target, 'mount', mountArguments(call));
    },
    async unmount(target, flags) {
      const options = [...(flags & MNT_FORCE ? ['-f'] : []), ...(flags & MNT_DETACH ? ['-l'] : [])];
      await runProgram('unmount', target, 'umount', ['-n', ...options, '--', target]);
    },
    async isMountRoot() {
      return undefined;
    },
    peek: () => undefined,
    ioctl: undefined,
    lockByte: undefined,
  };
}

const flagNames: [number, string][] = [
  [MS.RDONLY, 'ro'],
  [MS.NOSUID, 'nosuid'],
  [MS.NODEV, 'nodev'],
  [MS.NOEXEC, 'noexec'],
  [MS.SYNCHRONOUS, 'sync'],
  [MS.REMOUNT, 'remount'],
  [MS.MANDLOCK, 'mand'],
  [MS.DIRSYNC, 'dirsync'],
  [MS.NOSYMFOLLOW, 'nosymfollow'],
  [MS.NOATIME, 'noatime'],
  [MS.NODIRATIME, 'nodiratime'],
  [MS.RELATIME, 'relatime'],
  [MS.STRICTATIME, 'strictatime'],
  [MS.LAZYTIME, 'lazytime'],
];

const propagationNames: [number, string][] = [
  [MS.PRIVATE, 'private'],
  [MS.SHARED, 'shared'],
  [MS.SLAVE, 'slave'],
  [MS.UNBINDABLE, 'unbindable'],
];

export function mountArguments({ source, target, fsType, flags, data }: MountCall): string[] {
  const recursive = (flags & MS.REC) !== 0;
  const propagation = propagationNames.find(([bit]) => (flags & bit) !== 0)?.[1];
  if (propagation !== undefined) return [`--make-${recursive ? 'r' : ''}${propagation}`, '--', target];
  const options = flagNames.filter(([bit]) => (flags & bit) !== 0).map(([, name]) => name);
  if (flags & MS.BIND) options.unshift(recursive ? 'rbind' : 'bind');
  // Without `ro` a remount by mount(8) leaves the mount as it is; the system call makes it writable.
  if (flags & MS.REMOUNT && !(flags & MS.RDONLY)) options.push('rw');
  if (data) options.push(data);
  return [
    '-n',
    ...(fsType ? ['-t', fsType] : []),
    ...(options.length > 0 ? ['-o', options.join(',')] : []),
    '--',
    ...(source === null ? [] : [source]),
    target,
  ];
}

async function runProgram(operation: string, path: string, program: string, args: string[]): Promise<void> {
  try {
    await run(program, args, { env: { ...process.env, LC_ALL: 'C' } });
  } catch (error) {
    const text = stderrOf(error);
    throw new MountError({ operation, path, code: codeFromMessage(text), detail: text, cause: error });
  }
}

function stderrOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'stderr' in error && error.stderr)
    return String(error.stderr).trim();
  return errorMessage(error);
}

// The programs exit with 32 on every failure; only their message tells which.
const codesByMessage: [RegExp, string][] = [
  [/not mounted|not a mount point/i, 'EINVAL'],
  [/no mount point specified|does not exist|not found|No such file/i, 'ENOENT'],
  [/busy|already mounted/i, 'EBUSY'],
  [/permission denied|must be superuser|not permitted/i, 'EPERM'],
  [/unknown filesystem type/i, 'ENODEV'],
  [/is not a block device/i, 'ENOTBLK'],
  [/not a directory/i, 'ENOTDIR'],
  [/wrong fs type|bad option/i, 'EINVAL'],
  [/can't read superblock/i, 'EIO'],
  [/not connected/i, 'ENOTCONN'],
  [/stale/i, 'ESTALE'],
];

function codeFromMessage(message: string): string {
  return codesByMessage.find(([pattern]) => pattern.test(message))?.[1] ?? 'EUNKNOWN';
}
