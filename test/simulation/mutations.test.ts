// Each deliberate bug is noticed by the rule that is meant for it.

import { MUTATIONS } from '../../src/simulation/mutations.ts';
import { SNAPSHOT_MUTATIONS } from '../../src/simulation/snapshot-mutations.ts';
import { testDeliberateBugs } from './deliberate-bug.ts';

const others = Object.entries(MUTATIONS).filter(([name]) => !Object.hasOwn(SNAPSHOT_MUTATIONS, name));
testDeliberateBugs(Object.fromEntries(others));
