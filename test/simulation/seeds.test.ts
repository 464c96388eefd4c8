// A short range of seeds that is always the same, and one that is drawn anew at each run and named in its test's title:
// `berth sim --seed N` replays a seed that failed. Thousands are run by hand with `berth sim --random 3000`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_FAULTS } from '../../src/simulation/faults.ts';
import { reportOf } from '../../src/simulation/report.ts';
import { shrink } from '../../src/simulation/shrink.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';

const FIXED = 40;
const FRESH = 100;
/** Enough to make the report readable, not so much that a failure takes minutes. */
const SHRINK_RUNS = 60;
/** A seed takes 20 to 30 ms of processor time; a busy machine may take ten times as long. */
const TIMEOUT_MS = 240_000;

function violateNothing(kind: string, from: number, count: number): void {
  const to = from + count - 1;
  test(`${kind} seeds ${from}..${to} violate nothing`, { timeout: TIMEOUT_MS }, async () => {
    const options = { start: await makeStartImage(), faults: new Set(ALL_FAULTS) };
    for (let seed = from; seed <= to; seed++) {
      const run = await simulate(seed, options);
      if (run.violations.length === 0) continue;
      let left = SHRINK_RUNS;
      assert.fail(reportOf(await shrink(run, options, () => left-- > 0)));
    }
  });
}

violateNothing('the fixed', 1, FIXED);
violateNothing('freshly drawn', 1_000_000 + Math.floor(Math.random() * 1_000_000_000), FRESH);
