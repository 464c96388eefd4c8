// How directories and small files of the node's own are changed. A disk may make a change wait until its journal is
// written, so a thread waits for it. Memory never does: there the call is made at once, since handing it to a thread and
// hearing back costs many times the call itself.

import { mkdirSync, renameSync, rmdirSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rmdir, unlink, writeFile } from 'node:fs/promises';

export interface FileChanges {
  mkdir(path: string, options: { recursive?: boolean; mode: number }): Promise<unknown>;
  rmdir(path: string): Promise<void>;
  unlink(path: string): Promise<void>;
  writeFile(path: string, text: string, options: { mode: number }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}

const TMPFS_MAGIC = 0x01021994;

const inThreads: FileChanges = { mkdir, rmdir, unlink, writeFile, rename };

const atOnce: FileChanges = {
  async mkdir(path, options) {
    mkdirSync(path, options);
  },
  async rmdir(path) {
    rmdirSync(path);
  },
  async unlink(path) {
    unlinkSync(path);
  },
  async writeFile(path, text, options) {
    writeFileSync(path, text, options);
  },
  async rename(from, to) {
    renameSync(from, to);
  },
};

export function changesBelow(root: string): FileChanges {
  return isInMemory(root) ? atOnce : inThreads;
}

/** False of what is not there yet. */
function isInMemory(path: string): boolean {
  try {
    return statfsSync(path).type === TMPFS_MAGIC;
  } catch {
    return false;
  }
}
