// A log for many parts in one process: leaves out what each part would log about its ordinary operation, unless the
// verbosity asks for it.

import type { Log } from '../ports.ts';

/** `info` is logged from -v=1 on; warnings and errors always. */
export function quietLog(log: Log): Log {
  return {
    ...log,
    info: (message, fields) => log.v(1).info(message, fields),
    with: (fields) => quietLog(log.with(fields)),
  };
}
