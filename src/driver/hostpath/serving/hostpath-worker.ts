// The worker side of hostpath-thread.ts.

import { parentPort, workerData } from 'node:worker_threads';
import { logTo } from '../../../runtime/log/log.ts';
import { openLinuxMounter } from '../../../runtime/mount/linux-mounter.ts';
import { realRandom } from '../../../runtime/random.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import { whileFast } from '../../../runtime/time/while-fast.ts';
import type { FromHostpathThread, HostpathThreadData } from './hostpath-thread.ts';
import { serveHostpath } from './serve-hostpath.ts';

/** Its mounts are local and brief, and libuv's thread pool is small. */
const MOUNT_THREADS = 1;

const { plan, verbosity } = workerData as HostpathThreadData;
const port = parentPort;
const tell = (message: FromHostpathThread): void => port?.postMessage(message);

try {
  const stop = await serveHostpath(plan, {
    mounter: await openLinuxMounter({ threads: MOUNT_THREADS, whileFast: whileFast(realClock) }),
    clock: realClock,
    random: realRandom,
    log: logTo((line) => tell({ kind: 'log', line }), verbosity, {}),
  });
  port?.once('message', () => {
    void stop().finally(() => process.exit());
  });
  tell({ kind: 'serving' });
} catch (error) {
  tell({ kind: 'failed', error });
  port?.close();
}
