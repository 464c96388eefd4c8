// A log that is dropped after each line of each component was searched for secrets, in the form in which it would be
// written.

import { loggable } from '../runtime/log/loggable.ts';
import type { Log, LogFields } from '../runtime/ports.ts';
import { SECRET_MARK } from './class-objects.ts';
import type { History } from './history.ts';

export function watchedLog(history: History): Log {
  const look = (message: string, fields: LogFields | undefined): void => {
    if (!message.includes(SECRET_MARK) && !(fields && mayShow(fields) && shows(fields))) return;
    history.violate('secret', `a log line shows a secret: ${message}`);
  };
  const line = { enabled: true, info: look };
  const log: Log = {
    info: look,
    warn: look,
    error: (message, error, fields) => look(message, { ...fields, err: error }),
    v: (level) => (level > MOST_VERBOSE ? SILENT : line),
    with(fields) {
      look('', fields);
      return log;
    },
  };
  return log;
}

function shows(fields: LogFields): boolean {
  return JSON.stringify(loggable(fields)).includes(SECRET_MARK);
}

/** Most lines hold only names, numbers and an error, and can be searched without being formatted. */
function mayShow(fields: LogFields): boolean {
  for (const key in fields) {
    const value = fields[key];
    if (
      typeof value === 'string'
        ? value.includes(SECRET_MARK)
        : typeof value === 'object' && !isPlainError(value)
    )
      return true;
  }
  return false;
}

/** Of an error only the message is logged. */
function isPlainError(value: object | null): boolean {
  if (!(value instanceof Error)) return value === null;
  return (
    value.cause === undefined && !(value instanceof AggregateError) && !value.message.includes(SECRET_MARK)
  );
}

/** Up to the verbosity that an administrator would use; beyond that is tracing of requests. */
const MOST_VERBOSE = 4;
const SILENT = { enabled: false, info() {} };
