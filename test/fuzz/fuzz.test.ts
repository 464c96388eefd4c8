// A fixed range of seeds of every fuzz target. A seed that fails is replayed with `npm run fuzz -- NAME --seed=N`.
import { test } from 'node:test';
import { Draw } from './target.ts';
import { fuzzTargets } from './targets.ts';

for (const [name, target] of Object.entries(fuzzTargets)) {
  test(`${name}: ${target.summary}`, { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= target.seedsInTests; seed++) {
      try {
        await target.try(new Draw(seed));
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
  });
}
