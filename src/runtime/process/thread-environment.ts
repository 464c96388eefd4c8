// The environment of a worker thread: that of the process, and Node's compile cache. Without the cache a thread would strip the
// types of each source file again, which takes 25 MB and most of its start.

import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

export function threadEnvironment(): Record<string, string | undefined> {
  const directory = getCompileCacheDir();
  // It is named after Node's version, which each thread adds itself.
  return directory === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(directory) };
}
