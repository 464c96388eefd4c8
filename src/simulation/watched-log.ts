// A log that nobody reads, except for secrets: every line of every component is looked through for them, in the form in
// which it would be written.

import { loggable } from '../runtime/loggable.ts';
import type { Log, LogFields } from '../runtime/ports.ts';
import type { History } from './history.ts';
import { SECRET_MARK } from './users.ts';

export function watchedLog(history: History): Log {
  const look = (message: string, fields: LogFields | undefined): void => {
    const text = fields === undefined ? message : `${message} ${JSON.stringify(loggable(fields))}`;
    if (text.includes(SECRET_MARK)) history.violate('secret', `a log line shows a secret: ${message}`);
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

/** What an administrator who looks for trouble would turn on; beyond that is tracing of requests. */
const MOST_VERBOSE = 4;
const SILENT = { enabled: false, info() {} };
