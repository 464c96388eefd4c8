// Locks by key, exclusive on this machine across the processes that share a state directory. Within a process a queue;
// between processes a lock on one byte of a file, which the kernel releases when its holder dies.

import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { SystemCalls } from '../../../runtime/mount/system-calls.ts';
import type { Clock } from '../../../runtime/ports.ts';
import { keyLocks } from '../../key-locks.ts';

export interface HostLocks {
  /** Runs `work` while holding the key; waits for the key until the signal aborts. */
  exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Runs `work` if the key is free; otherwise returns false. */
  ifFree(key: string, work: () => Promise<void>): Promise<boolean>;
  close(): void;
}

// A process holds a key for a few system calls, or for an mkfs.
const POLL_MS = 10;

/** For a single process: simulations, tests. */
export function processLocks(): HostLocks {
  return lockingBytes(
    () => true,
    undefined,
    () => {},
  );
}

/** For all processes that open the same file. Without the native binding a second process is rejected. */
export function fileLocks(path: string, { calls, clock }: { calls: SystemCalls; clock: Clock }): HostLocks {
  const { lockByte } = calls;
  if (lockByte === undefined) return { ...processLocks(), close: takeAlone(path) };
  const fd = openSync(path, 'a+', 0o600);
  return lockingBytes(
    (key, unlock) => lockByte(fd, offsetOf(key), unlock),
    (signal) => clock.sleep(POLL_MS, signal),
    () => closeSync(fd),
  );
}

/** A transaction that stays open: the kernel releases SQLite's file lock when the process ends. */
function takeAlone(path: string): () => void {
  const database = new DatabaseSync(`${path}.alone`);
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    throw new Error(
      `another process uses the state directory of ${path}, and sharing it needs the native binding (koffi); stop that process or choose another directory`,
      { cause: error },
    );
  }
  return () => database.close();
}

function lockingBytes(
  lockByte: (key: string, unlock: boolean) => boolean,
  pause: ((signal?: AbortSignal) => Promise<void>) | undefined,
  close: () => void,
): HostLocks {
  const queue = keyLocks();
  return {
    async exclusive(key, work, signal) {
      const release = await queue.lock(key, signal);
      try {
        while (!lockByte(key, false)) await pause?.(signal);
        try {
          return await work();
        } finally {
          lockByte(key, true);
        }
      } finally {
        release();
      }
    },
    async ifFree(key, work) {
      const taken = queue.tryLock([key]);
      if ('busy' in taken) return false;
      try {
        if (!lockByte(key, false)) return false;
        try {
          await work();
          return true;
        } finally {
          lockByte(key, true);
        }
      } finally {
        taken.release();
      }
    },
    close,
  };
}

/** A hash of 53 bits: a collision only makes one key wait for the other. */
function offsetOf(key: string): bigint {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let at = 0; at < key.length; at += 1) {
    const code = key.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b) ^ (low >>> 15);
  }
  return BigInt((high >>> 11) * 2 ** 32 + (low >>> 0));
}
