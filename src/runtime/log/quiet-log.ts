// A log for many parts in one process: what each would say of its own ordinary course as a process is left out, unless
// someone wants to hear it.

import type { Log } from '../ports.ts';

/** `info` is said from -v=1 on; warnings and errors always. */
export function quietLog(log: Log): Log {
  return {
    ...log,
    info: (message, fields) => log.v(1).info(message, fields),
    with: (fields) => quietLog(log.with(fields)),
  };
}
