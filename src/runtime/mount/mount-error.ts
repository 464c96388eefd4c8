// The error of every mount operation: what was attempted, on which path, and the kernel's errno by name, so that callers
// decide by code and never by text.

import { getSystemErrorMap } from 'node:util';

export interface MountErrorDetails {
  /** e.g. `bind-mount`, `unmount`. */
  operation: string;
  path: string;
  /** errno by name: `EBUSY`, `ENOENT`, … or `EUNKNOWN`. */
  code: string;
  /** What the kernel or the program said, when there is more than the code. */
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

// Linux gives these for a path whose filesystem went away: a dead FUSE daemon (ENOTCONN), an NFS handle the server
// forgot (ESTALE), a device that was pulled (EIO, ENODEV), a server that is gone (EHOSTDOWN), a session that may no
// longer be used, even by root (EACCES).
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
