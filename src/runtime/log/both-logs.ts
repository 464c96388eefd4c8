// A log that writes each line to two others: what a cluster prints, and what it keeps for `berth logs`.

import type { Log } from '../ports.ts';
import { oncePerLevel } from './once-per-level.ts';

export function bothLogs(first: Log, second: Log): Log {
  return {
    info(message, fields) {
      first.info(message, fields);
      second.info(message, fields);
    },
    warn(message, fields) {
      first.warn(message, fields);
      second.warn(message, fields);
    },
    error(message, error, fields) {
      first.error(message, error, fields);
      second.error(message, error, fields);
    },
    v: oncePerLevel((level) => {
      const [one, other] = [first.v(level), second.v(level)];
      if (!other.enabled) return one;
      if (!one.enabled) return other;
      return {
        enabled: true,
        info(message, fields) {
          one.info(message, fields);
          other.info(message, fields);
        },
      };
    }),
    with: (fields) => bothLogs(first.with(fields), second.with(fields)),
  };
}
