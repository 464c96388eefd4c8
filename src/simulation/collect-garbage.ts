// A world that is over is garbage as a whole. Collected right then, nearly nothing is alive that would have to be copied;
// collected whenever it is due, it is in the middle of the next world.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects what is new in memory. */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  return () => collect({ type: 'minor' });
}
