// One thread of `berth sim --jobs`: runs its share of the seeds and posts what became of each.

import { parentPort, workerData } from 'node:worker_threads';
import { type SeedRange, seedResults } from './seed-results.ts';
import { settleIn } from './settle-in.ts';
import { makeStartImage } from './start-image.ts';

settleIn();
for await (const result of seedResults(workerData as SeedRange, await makeStartImage())) {
  parentPort?.postMessage(result);
}
