// Replicas that share: seeds violate nothing, and each deliberate bug in fence, hashing and hand-over is noticed by the rule
// that is meant for it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_FAULTS } from '../../src/simulation/faults.ts';
import { REPLICA_MUTATIONS } from '../../src/simulation/replica-mutations.ts';
import { reportOf } from '../../src/simulation/report.ts';
import { shrink } from '../../src/simulation/shrink.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';
import { testDeliberateBugs } from './deliberate-bug.ts';

const FIXED = 8;
const FRESH = 12;
const SHRINK_RUNS = 40;
const TIMEOUT_MS = 240_000;
const REPLICAS = 3;

function violateNothing(kind: string, from: number, count: number): void {
  const to = from + count - 1;
  test(`[SCL-1] replicas that come, go, hang and come back: ${kind} seeds ${from}..${to} violate nothing`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const options = { start: await makeStartImage(), faults: new Set(ALL_FAULTS), replicas: REPLICAS };
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
testDeliberateBugs(REPLICA_MUTATIONS, { replicas: REPLICAS });
