// The system calls that Node does not offer, behind one small interface. bindSystemCalls makes them through koffi;
// mount-command.ts runs mount(8) where the binding does not load.

import type { WhileFast } from '../time/while-fast.ts';
import { bindPeek, type Peeked } from './bind-peek.ts';
import { errnoName, MountError } from './mount-error.ts';

export interface MountCall {
  /** For error messages, e.g. `bind-mount`. */
  operation: string;
  source: string | null;
  target: string;
  fsType: string | null;
  flags: number;
  data: string | null;
}

export interface SystemCalls {
  mount(call: MountCall): Promise<void>;
  unmount(target: string, flags: number): Promise<void>;
  /**
   * Whether the path is the root of a mount (statx); undefined if the kernel does not report it. `ask` also queries the
   * filesystem, as stat does, which detects a dead one.
   */
  isMountRoot(path: string, options?: { ask: boolean }): Promise<boolean | undefined>;
  /**
   * The state of the path, looked up from its parent directory. Never blocks: it does not touch a filesystem mounted at
   * the path. Undefined if the kernel does not support it.
   */
  peek(path: string): Peeked | undefined;
  /** Absent without the native binding. */
  readonly ioctl: ((fd: number, request: number, argument: Buffer | number) => Promise<number>) | undefined;
  /**
   * Takes or releases (`unlock`) an open file description lock on one byte of a file. The kernel releases it when the
   * process dies. False if another process holds it. Never blocks.
   */
  readonly lockByte: ((fd: number, offset: bigint, unlock: boolean) => boolean) | undefined;
}

export const MNT_FORCE = 1;
export const MNT_DETACH = 2;
export const UMOUNT_NOFOLLOW = 8;

const AT_FDCWD = -100;
const AT_SYMLINK_NOFOLLOW = 0x100;
const AT_NO_AUTOMOUNT = 0x800;
// Never wait for a file server just to learn whether a path is a mount point.
const AT_STATX_DONT_SYNC = 0x4000;
const STATX_BASIC_STATS = 0x7ff;
const STATX_ATTR_MOUNT_ROOT = 0x2000n;
const F_OFD_SETLK = 37;
const F_WRLCK = 1;
const F_UNLCK = 2;
const EACCES = 13;
const EAGAIN = 11;

export interface SystemCallOptions {
  /** How many threads of libuv's pool calls may occupy; default all but one. Lower it for two mounters in a process. */
  threads?: number;
  /** Mounts and unmounts synchronously. Only for local mounts, which cannot hang. */
  whileFast?: WhileFast;
}

interface NativeFunction {
  (...args: unknown[]): number;
  async(...args: unknown[]): void;
}

type Call = (native: NativeFunction, args: unknown[]) => Promise<{ result: number; errno: number }>;

/** Throws if the binding cannot be loaded on this platform. */
export async function bindSystemCalls(options: SystemCallOptions = {}): Promise<SystemCalls> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load(null);
  const declare = (prototype: string) => libc.func(prototype) as unknown as NativeFunction;
  const mount = declare('int mount(const char *, const char *, const char *, unsigned long, const char *)');
  const umount2 = declare('int umount2(const char *, int)');
  const statx = declare('int statx(int, const char *, int, unsigned int, void *)');
  // ioctl and fcntl are variadic in C. For integer and pointer arguments Linux passes those the same way as fixed
  // ones on every architecture that koffi has a build for, and only fixed ones can be called asynchronously.
  const ioctlPointer = declare('int ioctl(int, unsigned long, void *)');
  const ioctlNumber = libc.func('ioctl', 'int', [
    'int',
    'unsigned long',
    'long',
  ]) as unknown as NativeFunction;
  const fcntl = declare('int fcntl(int, int, void *)');
  const gate = createGate(options.threads ?? allButOneThread());

  const callInThread: Call = (native, args) =>
    gate(
      () =>
        new Promise((resolve, reject) => {
          native.async(...args, (error: unknown, result: number) =>
            error ? reject(error as Error) : resolve({ result, errno: koffi.errno() }),
          );
        }),
    );
  const call: Call =
    options.whileFast?.(
      (native, args) => ({ result: native(...args), errno: koffi.errno() }),
      callInThread,
    ) ?? callInThread;

  const check = async (
    operation: string,
    path: string,
    native: NativeFunction,
    args: unknown[],
    how: Call = call,
  ) => {
    const { result, errno } = await how(native, args);
    if (result < 0) throw new MountError({ operation, path, code: errnoName(errno) });
    return result;
  };

  return {
    async mount({ operation, source, target, fsType, flags, data }) {
      refuseNul(operation, [source, target, fsType, data]);
      await check(operation, target, mount, [source, target, fsType, flags, data]);
    },
    async unmount(target, flags) {
      refuseNul('unmount', [target]);
      await check('unmount', target, umount2, [target, flags]);
    },
    async isMountRoot(path, { ask } = { ask: false }) {
      refuseNul('stat', [path]);
      const answer = Buffer.alloc(256);
      const flags = AT_SYMLINK_NOFOLLOW | (ask ? 0 : AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC);
      await check('stat', path, statx, [AT_FDCWD, path, flags, ask ? STATX_BASIC_STATS : 0, answer]);
      const attributes = answer.readBigUInt64LE(8);
      const supported = answer.readBigUInt64LE(56);
      return (supported & STATX_ATTR_MOUNT_ROOT) === 0n
        ? undefined
        : (attributes & STATX_ATTR_MOUNT_ROOT) !== 0n;
    },
    peek: bindPeek(koffi),
    ioctl(fd, request, argument) {
      const native = typeof argument === 'number' ? ioctlNumber : ioctlPointer;
      // Never synchronous: a freeze waits for all writers.
      return check('ioctl', `0x${request.toString(16)}`, native, [fd, request, argument], callInThread);
    },
    lockByte(fd, offset, unlock) {
      // struct flock: l_type, l_whence (16 bits each), padding, l_start, l_len, l_pid.
      const flock = Buffer.alloc(32);
      flock.writeInt16LE(unlock ? F_UNLCK : F_WRLCK, 0);
      flock.writeBigInt64LE(offset, 8);
      flock.writeBigInt64LE(1n, 16);
      if (fcntl(fd, F_OFD_SETLK, flock) === 0) return true;
      const errno = koffi.errno();
      if (errno === EAGAIN || errno === EACCES) return false;
      throw new MountError({ operation: 'lock', path: `byte ${offset}`, code: errnoName(errno) });
    },
  };
}

/** C strings end at the first NUL: a path that contains one would name another file. */
function refuseNul(operation: string, texts: (string | null)[]): void {
  const text = texts.find((candidate) => candidate?.includes('\0'));
  if (text !== undefined && text !== null) {
    throw new MountError({
      operation,
      path: JSON.stringify(text),
      code: 'EINVAL',
      detail: 'a path or option holds a NUL character',
    });
  }
}

/**
 * Calls run on libuv's thread pool, which all file functions share. A mount that hangs in the kernel blocks its thread,
 * so one thread is always left to the rest of the process.
 */
function allButOneThread(): number {
  const poolSize = Number(process.env.UV_THREADPOOL_SIZE) || 4;
  return Math.max(1, poolSize - 1);
}

/** Limits concurrency to `limit`, first come first served. */
function createGate(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
