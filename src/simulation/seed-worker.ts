// One thread of `berth sim --jobs`: runs its share of the seeds and posts their results.

import { parentPort, workerData } from 'node:worker_threads';
import { type SeedRange, seedResults } from './seed-results.ts';
import { makeStartImage } from './start-image.ts';
import { tuneThread } from './tune-thread.ts';

tuneThread();
for await (const result of seedResults(workerData as SeedRange, await makeStartImage())) {
  parentPort?.postMessage(result);
}
