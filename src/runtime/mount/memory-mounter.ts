// A Mounter with its mount table in memory, for simulations and unit tests. Faults are injected by operation: fail,
// fail after taking effect, or wait; a mount can be declared corrupted. It has no directories: a path that is not
// mounted is `plain`, unless it was declared absent.

import { MountError } from './mount-error.ts';
import { parseMountOptions } from './mount-options.ts';
import type { FilesystemUsage, MountEntry, Mounter } from './mounter.ts';

export type MountOperation =
  | 'bind'
  | 'mount'
  | 'remount'
  | 'unmount'
  | 'list'
  | 'inspect'
  | 'usage'
  | 'sizeOf'
  | 'freeze'
  | 'thaw'
  | 'loop.attach'
  | 'loop.detach'
  | 'loop.refreshSize';

export interface MemoryMountCall {
  operation: MountOperation;
  /** The target, or the device or image of a loop operation. */
  path: string;
  source?: string;
  options?: readonly string[];
}

/** An injected fault: the errno, and whether the call fails before or after it took effect. */
export interface MountFault {
  code: string;
  after?: boolean;
}

export interface MemoryMounterOptions {
  /** Called for every operation; may delay it. */
  fault?: (call: MemoryMountCall) => MountFault | undefined | Promise<MountFault | undefined>;
  usage?: FilesystemUsage;
  /** Sizes of block devices and images by path. */
  sizes?: Map<string, bigint>;
}

export interface MemoryMounter extends Mounter {
  /** The mutating calls so far. */
  readonly calls: readonly MemoryMountCall[];
  /** The mount table, oldest first. */
  readonly mounts: readonly MountEntry[];
  /** Image by loop device. */
  readonly loops: ReadonlyMap<string, string>;
  /** Mount paths of frozen filesystems. */
  readonly frozen: ReadonlySet<string>;
  /** Declares the filesystem mounted at this path dead, until it is unmounted. */
  corrupt(target: string): void;
  /** Declares the path absent, until something is mounted there or it is declared present again. */
  setAbsent(path: string, absent: boolean): void;
  /** Simulates a reboot: removes all mounts and loop devices. */
  reboot(): void;
}

const defaultUsage: FilesystemUsage = {
  totalBytes: 1n << 40n,
  availableBytes: 1n << 39n,
  usedBytes: 1n << 39n,
  totalInodes: 1n << 20n,
  freeInodes: 1n << 19n,
  usedInodes: 1n << 19n,
};

export function memoryMounter(options: MemoryMounterOptions = {}): MemoryMounter {
  const calls: MemoryMountCall[] = [];
  const mounts: MountEntry[] = [];
  const loops = new Map<string, string>();
  const readOnlyLoops = new Set<string>();
  const corrupted = new Set<string>();
  const absent = new Set<string>();
  const frozen = new Set<string>();
  let nextId = 100;
  let nextLoop = 0;

  const perform = async <T>(call: MemoryMountCall, effect: () => T): Promise<T> => {
    if (!['list', 'inspect', 'usage', 'sizeOf'].includes(call.operation)) calls.push(call);
    const fault = await options.fault?.(call);
    const fail = (code: string) =>
      new MountError({ operation: call.operation, path: call.path, code, detail: 'injected' });
    if (fault !== undefined && !fault.after) throw fail(fault.code);
    const result = effect();
    if (fault !== undefined) throw fail(fault.code);
    return result;
  };

  const at = (path: string) => mounts.filter((entry) => entry.mountPoint === path);

  const add = (mount: Omit<MountEntry, 'id' | 'parentId' | 'device' | 'optionalFields' | 'superOptions'>) => {
    nextId += 1;
    const device = mount.fsType === 'bind' ? '0:1' : `0:${nextId}`;
    mounts.push({ id: nextId, parentId: 1, device, optionalFields: [], superOptions: ['rw'], ...mount });
    absent.delete(mount.mountPoint);
  };

  const optionList = (given: readonly string[], readOnly: boolean) => {
    const rest = given.filter((option) => option !== 'ro' && option !== 'rw');
    return [readOnly ? 'ro' : 'rw', ...rest];
  };

  return {
    bind(source, target, bindOptions = {}) {
      const given = bindOptions.options ?? [];
      const readOnly = bindOptions.readOnly === true || given.includes('ro');
      return perform(
        { operation: 'bind', path: target, source, options: optionList(given, readOnly) },
        () => {
          // A bind mount of a mounted path shows its filesystem; the table has the original source, as the kernel's
          // does.
          const origin = at(source).at(-1);
          add({
            root: origin?.root ?? source,
            mountPoint: target,
            options: optionList(given, readOnly),
            fsType: origin?.fsType ?? 'bind',
            source: origin?.source ?? source,
          });
          if (corrupted.has(source)) corrupted.add(target);
        },
      );
    },

    mount({ source, target, fsType, options: given = [] }) {
      return perform({ operation: 'mount', path: target, source, options: given }, () => {
        const readOnly = (parseMountOptions(given).flags & 1) === 1;
        add({ root: '/', mountPoint: target, options: optionList(given, readOnly), fsType, source });
      });
    },

    remount(target, given) {
      return perform({ operation: 'remount', path: target, options: given }, () => {
        const entry = at(target).at(-1);
        if (entry === undefined) throw new MountError({ operation: 'remount', path: target, code: 'EINVAL' });
        const { flags, cleared } = parseMountOptions(given);
        const wasReadOnly = entry.options.includes('ro');
        const readOnly = (flags & 1) === 1 || (wasReadOnly && (cleared & 1) === 0);
        entry.options = optionList([...new Set([...entry.options, ...given])], readOnly);
      });
    },

    unmount(target) {
      return perform({ operation: 'unmount', path: target }, () => {
        for (let i = mounts.length - 1; i >= 0; i--)
          if (mounts[i]?.mountPoint === target) mounts.splice(i, 1);
        corrupted.delete(target);
      });
    },

    list: () => perform({ operation: 'list', path: '' }, () => mounts.map((entry) => ({ ...entry }))),
    mountsAt: (path) => perform({ operation: 'list', path }, () => at(path).map((entry) => ({ ...entry }))),
    isMountPoint: (path) => perform({ operation: 'inspect', path }, () => at(path).length > 0),
    inspect: (path) =>
      perform({ operation: 'inspect', path }, () => {
        if (corrupted.has(path)) return 'corrupted';
        if (at(path).length > 0) return 'mounted';
        return absent.has(path) ? 'absent' : 'plain';
      }),

    usage: (path) =>
      perform({ operation: 'usage', path }, () => {
        if (corrupted.has(path)) throw new MountError({ operation: 'usage', path, code: 'EIO' });
        return options.usage ?? defaultUsage;
      }),

    sizeOf: (path) =>
      perform({ operation: 'sizeOf', path }, () => {
        const size = options.sizes?.get(path) ?? options.sizes?.get(loops.get(path) ?? '');
        if (size === undefined) throw new MountError({ operation: 'sizeOf', path, code: 'ENOENT' });
        return size;
      }),

    freeze: (path) => perform({ operation: 'freeze', path }, () => void frozen.add(path)),
    thaw: (path) => perform({ operation: 'thaw', path }, () => void frozen.delete(path)),

    loop: {
      find: async (image, kind) =>
        [...loops]
          .filter(
            ([device, backing]) =>
              backing === image && (!kind || kind.readOnly === readOnlyLoops.has(device)),
          )
          .map(([device]) => device),
      attach: (image, { readOnly }) =>
        perform({ operation: 'loop.attach', path: image }, () => {
          const device = `/dev/loop${nextLoop}`;
          nextLoop += 1;
          loops.set(device, image);
          if (readOnly) readOnlyLoops.add(device);
          return { device, release: async () => {} };
        }),
      detach: (device, image) =>
        perform({ operation: 'loop.detach', path: device }, () => {
          if (image === undefined || loops.get(device) === image) loops.delete(device);
        }),
      refreshSize: (device) => perform({ operation: 'loop.refreshSize', path: device }, () => {}),
    },

    calls,
    mounts,
    loops,
    frozen,
    corrupt: (target) => void corrupted.add(target),
    setAbsent: (path, isAbsent) => void (isAbsent ? absent.add(path) : absent.delete(path)),
    reboot() {
      mounts.length = 0;
      loops.clear();
      corrupted.clear();
    },
  };
}
