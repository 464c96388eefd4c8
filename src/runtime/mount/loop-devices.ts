// Loop devices by /dev/loop-control and ioctl, or losetup(8) where there is no ioctl. The image of a device is read
// from sysfs, which needs neither an ioctl nor a record.

import { execFile } from 'node:child_process';
import { type FileHandle, open, readdir, readFile, realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { errorCode, MountError } from './mount-error.ts';
import type { AttachedLoop, LoopAttachOptions, LoopDevices } from './mounter.ts';
import type { SystemCalls } from './system-calls.ts';

const run = promisify(execFile);

const LOOP_CLR_FD = 0x4c01;
const LOOP_SET_CAPACITY = 0x4c07;
const LOOP_CONFIGURE = 0x4c0a;
const LOOP_CTL_GET_FREE = 0x4c82;
const LO_FLAGS_READ_ONLY = 1;
const LO_FLAGS_AUTOCLEAR = 4;

// struct loop_config: fd, block_size, then struct loop_info64 (232 bytes, flags at 52, file name at 56), 64 reserved.
const LOOP_CONFIG_BYTES = 304;
const INFO_OFFSET = 8;
const FLAGS_OFFSET = INFO_OFFSET + 52;
const FILE_NAME_OFFSET = INFO_OFFSET + 56;
const FILE_NAME_BYTES = 64;

// Another process may take the free device before this one does; each round asks for another.
const ATTACH_ROUNDS = 64;

type Ioctl = NonNullable<SystemCalls['ioctl']>;

export function loopDevices(calls: Pick<SystemCalls, 'ioctl'>): LoopDevices {
  const { ioctl } = calls;
  return ioctl === undefined ? losetupDevices() : ioctlDevices(ioctl);
}

function ioctlDevices(ioctl: Ioctl): LoopDevices {
  return {
    find: findLoopDevices,
    async attach(image, options) {
      const control = await open('/dev/loop-control', 'r+');
      const backing = await open(image, options.readOnly ? 'r' : 'r+').catch(async (error) => {
        await control.close();
        throw error;
      });
      try {
        return await attachFree(ioctl, { control, backing, image, options });
      } finally {
        await backing.close();
        await control.close();
      }
    },
    async detach(device, image) {
      await withDevice(device, async (handle) => {
        // The open descriptor prevents reuse of the device between check and detach.
        if (image !== undefined && !(await isOver(device, image))) return;
        try {
          await ioctl(handle.fd, LOOP_CLR_FD, 0);
        } catch (error) {
          if (errorCode(error) !== 'ENXIO') throw error;
        }
      });
    },
    async refreshSize(device) {
      await withDevice(device, async (handle) => {
        await ioctl(handle.fd, LOOP_SET_CAPACITY, 0);
      });
    },
  };
}

interface AttachRequest {
  control: FileHandle;
  backing: FileHandle;
  image: string;
  options: LoopAttachOptions;
}

async function attachFree(ioctl: Ioctl, request: AttachRequest): Promise<AttachedLoop> {
  const { control, backing, image, options } = request;
  const config = Buffer.alloc(LOOP_CONFIG_BYTES);
  config.writeUInt32LE(backing.fd, 0);
  config.writeUInt32LE(
    (options.readOnly ? LO_FLAGS_READ_ONLY : 0) | (options.autoClear ? LO_FLAGS_AUTOCLEAR : 0),
    FLAGS_OFFSET,
  );
  config.write(image.slice(0, FILE_NAME_BYTES - 1), FILE_NAME_OFFSET, 'utf8');
  for (let round = 0; round < ATTACH_ROUNDS; round += 1) {
    const device = `/dev/loop${await ioctl(control.fd, LOOP_CTL_GET_FREE, 0)}`;
    const handle = await open(device, options.readOnly ? 'r' : 'r+');
    try {
      await ioctl(handle.fd, LOOP_CONFIGURE, config);
    } catch (error) {
      await handle.close();
      if (errorCode(error) === 'EBUSY') continue;
      throw error;
    }
    if (options.autoClear) return { device, release: () => handle.close() };
    await handle.close();
    return { device, release: async () => {} };
  }
  throw new MountError({
    operation: 'attach loop device',
    path: image,
    code: 'EBUSY',
    detail: `others took every free device in ${ATTACH_ROUNDS} rounds`,
  });
}

async function withDevice(device: string, work: (handle: FileHandle) => Promise<void>): Promise<void> {
  let handle: FileHandle;
  try {
    handle = await open(device, 'r');
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENXIO') return;
    throw error;
  }
  try {
    await work(handle);
  } finally {
    await handle.close();
  }
}

function losetupDevices(): LoopDevices {
  return {
    find: findLoopDevices,
    async attach(image, options) {
      // losetup cannot keep a device open, so there is no auto-clear: the caller detaches after unmounting.
      const { stdout } = await run('losetup', [
        '--find',
        '--show',
        ...(options.readOnly ? ['-r'] : []),
        image,
      ]);
      return { device: stdout.trim(), release: async () => {} };
    },
    async detach(device, image) {
      const attached = await readBackingFile(deviceName(device));
      if (image !== undefined && !(await isOver(device, image))) return;
      if (attached !== undefined) await run('losetup', ['--detach', device]);
    },
    async refreshSize(device) {
      await run('losetup', ['--set-capacity', device]);
    },
  };
}

async function findLoopDevices(image: string, kind?: { readOnly: boolean }): Promise<string[]> {
  const path = await realpath(image).catch(() => image);
  const names = (await readdir('/sys/block')).filter((name) => /^loop\d+$/.test(name));
  const backing = await Promise.all(names.map(readBackingFile));
  const over = names.filter((_, at) => backing[at] === path);
  const readOnly = kind && (await Promise.all(over.map(isReadOnly)));
  return over.filter((_, at) => readOnly?.[at] === kind?.readOnly).map((name) => `/dev/${name}`);
}

async function isReadOnly(name: string): Promise<boolean> {
  return (await readFile(`/sys/block/${name}/ro`, 'utf8')).trim() === '1';
}

async function isOver(device: string, image: string): Promise<boolean> {
  const path = await realpath(image).catch(() => image);
  return (await readBackingFile(deviceName(device))) === path;
}

function deviceName(device: string): string {
  return device.slice('/dev/'.length);
}

/** The image of a device; undefined if it is not attached. The mark that sysfs adds to an unlinked image is removed. */
async function readBackingFile(name: string): Promise<string | undefined> {
  try {
    const text = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8');
    return text.replace(/\n$/, '').replace(/ \(deleted\)$/, '');
  } catch (error) {
    // ENOENT: not attached; ENXIO and ENODEV: detached between open and read.
    if (['ENOENT', 'ENXIO', 'ENODEV'].includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}
