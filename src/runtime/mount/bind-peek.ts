// Looks up a path from its parent directory with openat2(2) and RESOLVE_NO_XDEV, which stops at a mount point without
// touching the mounted filesystem, which may be a dead file server. So the call cannot block, is made synchronously,
// and detects the common cases (absent, not mounted) without a thread or an exception.

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

/** Undefined for paths without a last component, and where the kernel (before 5.6) or a sandbox rejects the call. */
export function bindPeek(koffi: typeof import('koffi').default): (path: string) => Peeked | undefined {
  const libc = koffi.load(null);
  // Variadic in C; integers and pointers are passed the same way.
  const openat2 = libc.func(
    'long syscall(long number, long directory, const char *path, void *how, long size)',
  );
  // Not Node's close: in a worker thread Node warns about descriptors that it did not open.
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
