// A log that also records retries in the trace: every loop logs them in one form, with its key and the delay.

import { oncePerLevel } from '../runtime/log/once-per-level.ts';
import type { Log, LogFields } from '../runtime/ports.ts';
import type { TraceBook } from './trace-book.ts';
import {
  attachmentToken,
  claimToken,
  contentToken,
  podToken,
  snapshotToken,
  type Token,
  volumeToken,
} from './trace-entry.ts';

export function tracedLog(log: Log, by: string, book: TraceBook, base: LogFields = {}): Log {
  const note = (error: unknown, fields: LogFields): void => {
    const { loop, key, attempt, retryInMs } = { ...base, ...fields };
    if (typeof key !== 'string' || typeof retryInMs !== 'number') return;
    const atMs = book.nowMs();
    book.note(() => ({
      kind: 'retry',
      atMs,
      by,
      loop: String(loop ?? ''),
      key,
      attempt: Number(attempt ?? 0) + 1,
      retryInMs,
      error: error instanceof Error ? error.message : String(error),
      links: tokensOf(key),
    }));
  };
  return {
    info: log.info,
    warn: log.warn,
    error(message, error, fields = {}) {
      note(error, fields);
      log.error(message, error, fields);
    },
    v: oncePerLevel((level) => {
      const verbose = log.v(level);
      return {
        enabled: verbose.enabled,
        info(message, fields = {}) {
          if ('retryInMs' in fields) note(fields.err, fields);
          verbose.info(message, fields);
        },
      };
    }),
    with: (fields) => tracedLog(log.with(fields), by, book, { ...base, ...fields }),
  };
}

/** A key names an object of the loop's own kind, which only the loop knows: what there is of that name is meant. */
function tokensOf(key: string): Token[] {
  const [namespace = '', name] = key.split('/');
  if (name === undefined) return [volumeToken(key), attachmentToken(key), contentToken(key)];
  return [claimToken(namespace, name), podToken(namespace, name), snapshotToken(namespace, name)];
}
