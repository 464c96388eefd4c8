// Detects the content of a block device or image by signature: a known filesystem, blank, or unknown. Read-only. In
// doubt it answers unknown, since a blank device will be formatted.

import { type FileHandle, open } from 'node:fs/promises';

/** `unknown`: neither blank nor recognised. */
export type DeviceContent = { fsType: string } | 'blank' | 'unknown';

interface Signature {
  readonly fsType: string;
  readonly offset: number;
  readonly bytes: string;
}

const signatures: readonly Signature[] = [
  { fsType: 'xfs', offset: 0, bytes: 'XFSB' },
  { fsType: 'btrfs', offset: 0x10040, bytes: '_BHRfS_M' },
  { fsType: 'crypto_LUKS', offset: 0, bytes: 'LUKS\xba\xbe' },
  { fsType: 'LVM2_member', offset: 0x218, bytes: 'LVM2 001' },
  { fsType: 'squashfs', offset: 0, bytes: 'hsqs' },
  { fsType: 'swap', offset: 0xff6, bytes: 'SWAPSPACE2' },
];

const EXT_MAGIC_OFFSET = 0x438;
const EXT_MAGIC = 0xef53;
const EXT_COMPATIBLE_OFFSET = 0x45c;
const EXT_INCOMPATIBLE_OFFSET = 0x460;
const EXT_HAS_JOURNAL = 0x4;
// Extents, 64-bit, flexible block groups: features of ext4 only.
const EXT4_ONLY = 0x40 | 0x80 | 0x200;

// Every filesystem and partition table has a signature within the first or the last this many bytes.
const HEAD_BYTES = 2 << 20;
const TAIL_BYTES = 1 << 20;

export async function detectContent(path: string): Promise<DeviceContent> {
  const handle = await open(path, 'r');
  try {
    const head = await readAt(handle, 0, HEAD_BYTES);
    const known = signatures.find(
      ({ offset, bytes }) => head.toString('latin1', offset, offset + bytes.length) === bytes,
    );
    if (known !== undefined) return { fsType: known.fsType };
    const extended = extVersion(head);
    if (extended !== undefined) return { fsType: extended };
    if (!isZero(head)) return 'unknown';
    const size = await sizeOf(handle);
    return isZero(await readAt(handle, Math.max(0, size - TAIL_BYTES), TAIL_BYTES)) ? 'blank' : 'unknown';
  } finally {
    await handle.close();
  }
}

function extVersion(head: Buffer): string | undefined {
  if (head.length < EXT_INCOMPATIBLE_OFFSET + 4 || head.readUInt16LE(EXT_MAGIC_OFFSET) !== EXT_MAGIC)
    return undefined;
  if ((head.readUInt32LE(EXT_INCOMPATIBLE_OFFSET) & EXT4_ONLY) !== 0) return 'ext4';
  return (head.readUInt32LE(EXT_COMPATIBLE_OFFSET) & EXT_HAS_JOURNAL) !== 0 ? 'ext3' : 'ext2';
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** stat reports size zero for a block device, so its end is found by reading. */
async function sizeOf(handle: FileHandle): Promise<number> {
  const { size } = await handle.stat();
  if (size > 0) return size;
  let low = 0;
  let high = 2 ** 50;
  const probe = Buffer.alloc(1);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const { bytesRead } = await handle.read(probe, 0, 1, middle - 1);
    if (bytesRead === 1) low = middle;
    else high = middle;
  }
  return low;
}

function isZero(buffer: Buffer): boolean {
  return buffer.equals(Buffer.alloc(buffer.length));
}
