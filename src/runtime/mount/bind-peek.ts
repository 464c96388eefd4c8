// Looks at a path from the directory above it: openat2(2) told to cross no mount stops at one before it asks the filesystem
// that is mounted there, which may be a dead file server. So it can be called at once, and tells the common cases, that
// nothing is there or nothing is mounted, without a thread and without an error to be caught.

import { closeSync, constants, openSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { errorCode } from './mount-error.ts';

export type Peeked = 'absent' | 'plain' | 'mounted';

const SYS_OPENAT2 = 437;
const O_PATH = 0x200000;
const O_CLOEXEC = 0x80000;
const RESOLVE_NO_XDEV = 1n;
const HOW_BYTES = 24;
const ENOENT = 2;
const EXDEV = 18;

/** Undefined for paths that have no name of their own, and where the kernel (before 5.6) or a sandbox refuses. */
export function bindPeek(koffi: typeof import('koffi').default): (path: string) => Peeked | undefined {
  const libc = koffi.load(null);
  // Variadic in C; whole numbers and pointers are passed alike.
  const openat2 = libc.func(
    'long syscall(long number, long directory, const char *path, void *how, long size)',
  );
  // Not Node's: in a thread Node warns of every descriptor that it closes and has not opened.
  const close = libc.func('int close(int descriptor)');
  const how = Buffer.alloc(HOW_BYTES);
  how.writeBigUInt64LE(BigInt(O_PATH | O_CLOEXEC | constants.O_NOFOLLOW), 0);
  how.writeBigUInt64LE(RESOLVE_NO_XDEV, 16);
  return (path) => {
    const name = basename(path);
    if (name === '' || name === '.' || name === '..' || name.includes('\0')) return undefined;
    let above: number;
    try {
      above = openSync(dirname(path), O_PATH | constants.O_DIRECTORY);
    } catch (error) {
      return errorCode(error) === 'ENOENT' ? 'absent' : undefined;
    }
    try {
      const opened = Number(openat2(SYS_OPENAT2, above, name, how, HOW_BYTES));
      if (opened >= 0) {
        close(opened);
        return 'plain';
      }
      const errno = koffi.errno();
      if (errno === EXDEV) return 'mounted';
      return errno === ENOENT ? 'absent' : undefined;
    } finally {
      closeSync(above);
    }
  };
}
