// One test for each deliberate bug: some seed shows it, by the rule that is meant for it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Mutation } from '../../src/simulation/mutation.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';

/** Most are noticed by one of the first ten, the rarest by one of several hundred. */
const MOST_SEEDS = 3000;

export function testDeliberateBugs(
  mutations: Readonly<Record<string, Mutation>>,
  {
    isWorthwhile = () => true,
    replicas,
  }: { isWorthwhile?: (seed: number) => boolean; replicas?: number } = {},
): void {
  for (const [name, mutation] of Object.entries(mutations)) {
    test(`${name}: ${mutation.what}`, { timeout: 300_000 }, async (t) => {
      const start = await makeStartImage();
      for (let seed = 1; seed <= MOST_SEEDS; seed++) {
        if (!isWorthwhile(seed)) continue;
        const { violations } = await simulate(seed, { start, mutation, replicas });
        if (violations[0]?.rule !== mutation.rule) continue;
        t.diagnostic(`seed ${seed}: ${mutation.rule}: ${violations[0].text}`);
        return;
      }
      assert.fail(`no seed up to ${MOST_SEEDS} was noticed by ${mutation.rule}`);
    });
  }
}
