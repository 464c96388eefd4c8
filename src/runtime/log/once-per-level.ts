// Memoizes a log's `v` per level: every loop calls it at each step.

import type { Log } from '../ports.ts';

export function oncePerLevel(make: Log['v']): Log['v'] {
  const made: ReturnType<Log['v']>[] = [];
  return (level) => {
    made[level] ??= make(level);
    return made[level];
  };
}
