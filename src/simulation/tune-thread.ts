// Settings of a thread that runs thousands of simulated clusters.

import { setFlagsFromString } from 'node:v8';

export function tuneThread(): void {
  // Thousands of errors are thrown, and nobody reads their stacks.
  Error.stackTraceLimit = 0;
  // Allocation site pretenuring puts objects that seem long-lived straight into the old generation. A cluster's objects
  // live only a fifth of the time between two full collections, and one dead object there keeps its whole dead
  // cluster until the next of them. That cost a seventh of all processor time.
  setFlagsFromString('--no-allocation-site-pretenuring');
}
