// A log's `v` is asked for a level at each step of every loop, and answers the same each time: it is made once.

import type { Log } from '../ports.ts';

export function oncePerLevel(make: Log['v']): Log['v'] {
  const made: ReturnType<Log['v']>[] = [];
  return (level) => {
    made[level] ??= make(level);
    return made[level];
  };
}
