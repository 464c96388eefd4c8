// A short range of seeds that is always the same, and a fresh one whose seeds are printed: thousands are run by hand with
// `berth sim --seeds 1..10000`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_FAULTS } from '../../src/simulation/faults.ts';
import { reportOf } from '../../src/simulation/report.ts';
import { shrink } from '../../src/simulation/shrink.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';

const FIXED = 60;
const FRESH = 20;
/** Enough to make the report readable, not so much that a failure takes minutes. */
const SHRINK_RUNS = 60;

async function clean(from: number, count: number): Promise<void> {
  const options = { start: await makeStartImage(), faults: new Set(ALL_FAULTS) };
  for (let seed = from; seed < from + count; seed++) {
    const run = await simulate(seed, options);
    if (run.violations.length === 0) continue;
    let left = SHRINK_RUNS;
    assert.fail(reportOf(await shrink(run, options, () => left-- > 0)));
  }
}

test(`seeds 1 to ${FIXED} violate nothing`, { timeout: 120_000 }, () => clean(1, FIXED));

test(`${FRESH} fresh seeds violate nothing`, { timeout: 120_000 }, async (t) => {
  const from = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
  t.diagnostic(`berth sim --seeds ${from}..${from + FRESH - 1}`);
  await clean(from, FRESH);
});
