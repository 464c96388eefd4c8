// Each deliberate bug about snapshots is noticed by the rule that is meant for it. Only clusters with snapshots are tried.

import { seededRandom } from '../../src/runtime/random.ts';
import { makePlan } from '../../src/simulation/plan.ts';
import { SNAPSHOT_MUTATIONS } from '../../src/simulation/snapshot-mutations.ts';
import { testDeliberateBugs } from './deliberate-bug.ts';

testDeliberateBugs(SNAPSHOT_MUTATIONS, {
  isWorthwhile: (seed) => makePlan(seed, seededRandom(seed)).drivers.some(({ snapshots }) => snapshots),
});
