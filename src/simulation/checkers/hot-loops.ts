// A limit on how often one component may do the same thing to the same object within a minute. With backoff it is far
// away; a loop without backoff reaches it at once.

import type { Checker, Rules } from './index.ts';

const WINDOW_MS = 60_000;
const MOST_CALLS = 60;
const MOST_WRITES = 90;

export function hotLoopChecker({ violate }: Rules): Checker {
  const windows = new Map<string, { startMs: number; count: number }>();

  function count(atMs: number, key: string, most: number): void {
    const window = windows.get(key);
    if (window === undefined || atMs - window.startMs >= WINDOW_MS) {
      windows.set(key, { startMs: atMs, count: 1 });
      return;
    }
    window.count += 1;
    if (window.count > most) violate('hot-loop', `${key}: ${window.count} times within a minute`);
  }

  return {
    call({ atMs, actor, call: { method, volume, path } }) {
      count(atMs, `${actor} calls ${method} ${volume} ${path}`, MOST_CALLS);
    },
    write({ atMs, actor, verb, plural, key }) {
      count(atMs, `${actor} asks to ${verb} ${plural} ${key}`, MOST_WRITES);
    },
  };
}
