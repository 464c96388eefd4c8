// Keeps the trace over restarts: one JSON entry per line, appended every two seconds and at the end, so that recording itself waits for
// nothing. Bounded: once the file has twice as many entries as the book keeps, it is replaced by the last of them. Only its
// owner can read it. What was recorded in the last two seconds before a crash is lost.

import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import type { Clock, Log, Timer } from '../runtime/ports.ts';
import type { TraceBook } from './trace-book.ts';
import type { TraceEntry } from './trace-entry.ts';

const EVERY_MS = 2_000;
/** As many as the book keeps. */
const LONGEST = 5_000;
const MODE = 0o600;

export interface TraceFile {
  /** Writes the rest. */
  stop(): Promise<void>;
}

/** Gives the book the entries of earlier runs, and writes new ones from now on. */
export async function keepTrace(options: {
  path: string;
  book: TraceBook;
  clock: Clock;
  log: Log;
}): Promise<TraceFile> {
  const { path, book, clock, log } = options;
  const kept = entriesIn(await readFile(path, 'utf8').catch(() => '')).slice(-LONGEST);
  book.restore(kept);
  let { last } = book.after(Number.POSITIVE_INFINITY);
  // The first write replaces the file: its last line may be half of one, and it may be longer than it should be.
  let lines = Number.POSITIVE_INFINITY;
  let timer: Timer | undefined;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    const next = book.after(last);
    if (next.last === last) return;
    if (lines + next.entries.length > 2 * LONGEST) {
      const all = book.after(-1).entries.slice(-LONGEST);
      const replacement = `${path}.new`;
      await writeFile(replacement, textOf(all), { mode: MODE });
      await rename(replacement, path);
      lines = all.length;
    } else {
      await appendFile(path, textOf(next.entries), { mode: MODE });
      lines += next.entries.length;
    }
    last = next.last;
  }
  const flush = (): Promise<void> => {
    writing = writing.then(write).catch((error: unknown) => {
      // The trace is a convenience: a full disk must not stop the cluster.
      log.v(2).info('The trace could not be written, trying again', { path, err: error });
    });
    return writing;
  };
  const arm = (): void => {
    timer = clock.setTimeout(() => void flush().then(() => timer && arm()), EVERY_MS);
  };
  arm();
  return {
    async stop() {
      timer?.cancel();
      timer = undefined;
      await flush();
    },
  };
}

const textOf = (entries: readonly TraceEntry[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');

/** Lines that are no entries are passed over. */
function entriesIn(text: string): TraceEntry[] {
  return text.split('\n').flatMap((line) => {
    try {
      const entry = JSON.parse(line) as TraceEntry;
      return typeof entry.atMs === 'number' && Array.isArray(entry.links) ? [entry] : [];
    } catch {
      return [];
    }
  });
}
