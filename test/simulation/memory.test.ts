// A finished cluster is dropped without being stopped. Nothing outside may refer to it, or a long run would fill the memory.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';

for (const replicas of [undefined, 3]) {
  const name = replicas ? `a finished cluster with ${replicas} replicas` : 'a finished cluster';
  test(`${name} leaves nothing in memory`, () => leavesNothing(replicas));
}

async function leavesNothing(replicas: number | undefined): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const start = await makeStartImage();
  const histories = [];
  for (let seed = 1; seed <= 6; seed++) {
    histories.push(new WeakRef((await simulate(seed, { start, replicas })).entries as object));
  }
  await setImmediate();
  collectGarbage();
  // The last one may still be within reach of what has just run.
  const kept = histories.slice(0, -1).filter((history) => history.deref() !== undefined);
  assert.equal(kept.length, 0, `${kept.length} of ${histories.length - 1} are kept`);
}
