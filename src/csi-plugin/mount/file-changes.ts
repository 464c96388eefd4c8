// Writes of the node's directories and small files: synchronous while the disk is fast, and always in memory;
// asynchronous while the filesystem is slow.

import {
  type MakeDirectoryOptions,
  mkdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  type WriteFileOptions,
  writeFileSync,
} from 'node:fs';
import { mkdir, rename, rmdir, unlink, writeFile } from 'node:fs/promises';
import type { Clock } from '../../runtime/ports.ts';
import { whileFast } from '../../runtime/time/while-fast.ts';

export function fileChanges(clock: Clock) {
  const change = whileFast(clock);
  return {
    mkdir: change<[string, MakeDirectoryOptions], unknown>(mkdirSync, mkdir),
    rmdir: change<[string], void>(rmdirSync, rmdir),
    unlink: change<[string], void>(unlinkSync, unlink),
    writeFile: change<[string, string, WriteFileOptions & object], void>(writeFileSync, writeFile),
    rename: change<[string, string], void>(renameSync, rename),
  };
}
