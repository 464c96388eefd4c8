// The auditor in simulated clusters. Thousands of seeds: `berth sim --audit=clean --seeds=1..1000`, and `--audit=planted`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_FAULTS } from '../../src/simulation/faults.ts';
import { digestOf } from '../../src/simulation/render.ts';
import { reportOf } from '../../src/simulation/report.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';

/** A seed takes a fifth of a second; a busy machine may take ten times as long. */
const TIMEOUT_MS = 240_000;
const SEEDS = 40;

test('[AUD-1] in clusters without planted leaks the auditor finds nothing', {
  timeout: TIMEOUT_MS,
}, async () => {
  const start = await makeStartImage();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const run = await simulate(seed, { start, audit: 'clean' });
    if (run.violations.length > 0) assert.fail(reportOf({ run, runs: 1, faults: ALL_FAULTS }));
  }
});

test('[AUD-1] the auditor finds every planted leak, and following its plan violates no rule', {
  timeout: TIMEOUT_MS,
}, async () => {
  const start = await makeStartImage();
  const sum = { planted: 0, applied: 0 };
  for (let seed = 1; seed <= SEEDS; seed++) {
    const run = await simulate(seed, { start, audit: 'planted' });
    if (run.violations.length > 0) assert.fail(reportOf({ run, runs: 1, faults: ALL_FAULTS }));
    sum.planted += run.audit?.planted ?? 0;
    sum.applied += run.audit?.applied ?? 0;
  }
  assert.ok(sum.planted > SEEDS / 2, `${sum.planted} leaks were planted`);
  assert.ok(sum.applied > SEEDS / 5, `${sum.applied} steps were carried out`);
});

test('[AUD-1] the auditor looks and changes nothing: a history differs only after it has begun', async () => {
  const start = await makeStartImage();
  for (const seed of [3, 20]) {
    const plain = (await simulate(seed, { start })).entries;
    const audited = (await simulate(seed, { start, audit: 'clean' })).entries;
    const rest = plain.findIndex((entry) => entry.kind === 'phase' && entry.phase === 'delete');
    assert.equal(digestOf(audited.slice(0, rest)), digestOf(plain.slice(0, rest)), `seed ${seed}`);
  }
});
