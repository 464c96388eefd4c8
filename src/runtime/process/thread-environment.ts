// The environment of a worker thread: this process' own, and its cache of compiled code. Threads do not have that by
// themselves, and would strip the types of each source file again, which takes 25 MB and most of their start.

import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

export function threadEnvironment(): Record<string, string | undefined> {
  const directory = getCompileCacheDir();
  // It is named after Node's version, which each thread adds itself.
  return directory === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(directory) };
}
