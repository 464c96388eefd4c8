// Every part as a process in a cluster with 100,000 volumes in use and 5,000 nodes: each starts, all of them together bring volumes through
// their lives, and none needs much more memory than `berth plan` says its container should request.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runLives } from '../../bench/scale/run-lives.ts';
import { scaleWorld } from '../../bench/scale/scale-world.ts';
import { planScale } from '../../src/plan/plan.ts';
import { lacking } from '../capabilities.ts';

const SIZE = { volumes: 100_000, nodes: 5_000 };
const LIVES = 5;
/** A request is no limit: a peak may be above it for a moment, and memory varies from run to run. */
const MOST_OF_REQUEST = 1.3;

test('[SCL-2] with 100,000 volumes and 5,000 nodes every part starts, works, and stays near what berth plan requests for it', {
  skip: lacking('mounts'),
  timeout: 590_000,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 's-'));
  const world = await scaleWorld({ ...SIZE, directory, direct: true, official: false });
  try {
    // Resolves when each volume was mounted, expanded, snapshotted and is gone again.
    const { figures = {} } = await runLives(world, { lives: LIVES, inFlight: LIVES });
    const plan = planScale({
      ...SIZE,
      churn: 1,
      callMs: 0,
      isSeparate: true,
      apiserverCores: 8,
      etcdWrites: 5_000,
    });
    const tooLarge = plan.parts.flatMap(({ name, requestMib }) => {
      const peaks = Object.entries(figures).filter(([figure]) => figure.endsWith(` ${name} peak MB`));
      assert.equal(peaks.length, 4, `${name} ran in every phase`);
      const peakMb = Math.max(...peaks.map(([, megabytes]) => megabytes));
      return peakMb <= MOST_OF_REQUEST * requestMib * 1.048576
        ? []
        : [`${name} had ${peakMb} MB, planned are ${requestMib} MiB`];
    });
    assert.deepEqual(tooLarge, []);
  } finally {
    await world.stop();
    await rm(directory, { recursive: true, force: true });
  }
});
