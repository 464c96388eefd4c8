// The worker thread of journal-thread.ts. Owns the file; responds to each batch when it is on disk.

import { parentPort, workerData } from 'node:worker_threads';
import { DataDirError, type JournalRecord, RetryableCommitError, type StoredRow } from './journal.ts';
import type { FromJournalThread, ToJournalThread } from './journal-thread.ts';
import { openStateFile, type StateFile } from './state-file.ts';

/** Rows per message when loading: bounds the thread's memory for a large file. */
const ROWS_AT_ONCE = 1_000;

const port = parentPort;
const tell = (message: FromJournalThread, own: ArrayBuffer[] = []): void => port?.postMessage(message, own);

function tellRows(rows: readonly StoredRow[]): void {
  tell(
    { kind: 'rows', rows },
    rows.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  );
}

function tellAll(file: StateFile): void {
  let rows: StoredRow[] = [];
  for (const row of file.rows()) {
    rows.push(row);
    if (rows.length < ROWS_AT_ONCE) continue;
    tellRows(rows);
    rows = [];
  }
  tellRows(rows);
  tell({ kind: 'open', revision: file.revision });
}

function commit(file: StateFile, batch: readonly JournalRecord[]): void {
  try {
    file.commit(batch);
    tell({ kind: 'committed' });
  } catch (error) {
    const { message } = error as Error;
    tell({ kind: 'failed', message, mayTryAgain: error instanceof RetryableCommitError });
  }
}

function open(path: string): void {
  let file: StateFile | undefined;
  try {
    file = openStateFile(path);
    tellAll(file);
  } catch (error) {
    file?.close();
    if (!(error instanceof DataDirError)) throw error;
    tell({ kind: 'refused', message: error.message });
    return;
  }
  const opened = file;
  port?.on('message', (message: ToJournalThread) => {
    if (message !== 'close') return commit(opened, message);
    opened.close();
    port?.close();
  });
}

open(workerData as string);
