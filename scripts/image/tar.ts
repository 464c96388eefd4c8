// The tar format (ustar, with GNU's long names when reading): image layers are written with it, Debian packages read.

import {
  BLOCK,
  FLAGS,
  LONGEST_NAME,
  LONGEST_PREFIX,
  type TarFile,
  writeTar,
} from '../../src/cli/support/write-tar.ts';

export { type TarFile, writeTar };

const TYPES = Object.keys(FLAGS) as (keyof typeof FLAGS)[];

export function readTar(archive: Buffer): TarFile[] {
  const files: TarFile[] = [];
  let longName: string | undefined;
  let longTarget: string | undefined;
  let at = 0;
  while (at + BLOCK <= archive.length && archive[at] !== 0) {
    const block = archive.subarray(at, at + BLOCK);
    const text = (from: number, length: number): string => untilNul(block.subarray(from, from + length));
    const number = (from: number, length: number): number =>
      Number.parseInt(text(from, length).trim() || '0', 8);
    const flag = text(156, 1) || '0';
    const size = number(124, 12);
    const data = archive.subarray(at + BLOCK, at + BLOCK + size);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (flag === 'L') longName = untilNul(data);
    else if (flag === 'K') longTarget = untilNul(data);
    else {
      const prefix = text(257, 6) === 'ustar' ? text(345, LONGEST_PREFIX) : '';
      const path = plain(longName ?? (prefix && `${prefix}/`) + text(0, LONGEST_NAME));
      const target = longTarget ?? text(157, LONGEST_NAME);
      longName = longTarget = undefined;
      const type = TYPES.find((each) => FLAGS[each] === flag);
      if (type === undefined) throw new Error(`${path}: a tar entry of type "${flag}" is not supported`);
      files.push({
        path,
        type,
        mode: number(100, 8),
        uid: number(108, 8),
        gid: number(116, 8),
        ...(type === 'file' && { data }),
        ...(type === 'symlink' && { target }),
        ...(type === 'hardlink' && { target: plain(target) }),
      });
    }
  }
  return files;
}

const untilNul = (bytes: Buffer): string => bytes.toString('utf8').replace(/\0.*$/s, '');
const plain = (path: string): string => path.replace(/^(\.?\/)+/, '').replace(/\/$/, '');
