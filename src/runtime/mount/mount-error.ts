// The error of every mount operation: operation, path, and errno by name, so that callers match the code and never the
// text.

import { getSystemErrorMap } from 'node:util';

export interface MountErrorDetails {
  /** e.g. `bind-mount`, `unmount`. */
  operation: string;
  path: string;
  /** errno by name: `EBUSY`, `ENOENT`, … or `EUNKNOWN`. */
  code: string;
  /** The message of the kernel or program, if there is one. */
  detail?: string;
  cause?: unknown;
}

export class MountError extends Error {
  readonly operation: string;
  readonly path: string;
  readonly code: string;

  constructor(details: MountErrorDetails) {
    const detail = details.detail ?? hints[details.code];
    super(
      `${details.operation} ${details.path}: ${details.code}${detail ? ` (${detail})` : ''}`,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = 'MountError';
    this.operation = details.operation;
    this.path = details.path;
    this.code = details.code;
  }
}

const hints: Record<string, string> = {
  EPERM: 'mounting needs root or CAP_SYS_ADMIN',
  EBUSY: 'still in use: a process has files open there, or another mount is below it',
  ENODEV: 'the kernel does not know this filesystem type',
  EINVAL: 'the kernel refused the arguments: an unknown mount option, or a damaged or missing filesystem',
  ENOTBLK: 'the source is not a block device',
};

let namesByNumber: Map<number, string> | undefined;

/** `EBUSY` for 16. */
export function errnoName(errno: number): string {
  namesByNumber ??= new Map([...getSystemErrorMap()].map(([number, [name]]) => [-number, name]));
  return namesByNumber.get(errno) ?? extraNames[errno] ?? 'EUNKNOWN';
}

// Linux numbers that libuv does not name.
const extraNames: Record<number, string> = { 15: 'ENOTBLK', 19: 'ENODEV', 116: 'ESTALE', 117: 'EUCLEAN' };

/** The errno name of anything that was thrown by Node's file functions or by a Mounter. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

// Errors for a path whose filesystem is dead: a FUSE daemon that ended (ENOTCONN), a stale NFS handle (ESTALE), a
// removed device (EIO, ENODEV), an unreachable server (EHOSTDOWN), an expired session, even for root (EACCES).
const corruptedMountCodes = new Set([
  'ENOTCONN',
  'ESTALE',
  'EIO',
  'EACCES',
  'EHOSTDOWN',
  'ENODEV',
  'EAGAIN',
  'ENXIO',
  'ESHUTDOWN',
]);

export function isCorruptedMountError(error: unknown): boolean {
  return corruptedMountCodes.has(errorCode(error) ?? '') || isStaleByNumber(error);
}

// libuv has no name for ESTALE, so Node's file functions report it by number alone.
function isStaleByNumber(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'errno' in error && error.errno === -116;
}
