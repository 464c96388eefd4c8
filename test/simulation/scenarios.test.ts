import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportOf } from '../../src/simulation/report.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';
import { SCENARIOS } from './scenarios.ts';

for (const { name, was, plan, faults, seeds } of SCENARIOS) {
  test(`${name} (${was})`, { timeout: 120_000 }, async () => {
    const start = await makeStartImage();
    for (let seed = 1; seed <= seeds; seed++) {
      const run = await simulate(seed, { start, faults: new Set(faults), change: () => ({ ...plan, seed }) });
      if (run.violations.length === 0) continue;
      assert.fail(reportOf({ run, runs: 1, faults }));
    }
  });
}
