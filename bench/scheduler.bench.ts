// The cost of scheduling a pod, and its dependence on the number of nodes.

import { intFlag } from '../src/runtime/flags/flag.ts';
import { defineBenchmark } from './harness.ts';
import { scheduling, searching } from './scheduler-candidates.ts';

export const benchmark = defineBenchmark({
  summary: 'Pods with bound claims scheduled over 50, 500 and 5,000 nodes, on the embedded API server',
  operation: 'pod',
  flags: { pods: intFlag({ help: 'Pods a round', default: 1000, min: 1 }) },
  repeats: 3,
  baseline: '50 nodes',
  candidates: {
    '50 nodes': ({ flags }) => scheduling(50, flags.pods),
    '500 nodes': ({ flags }) => scheduling(500, flags.pods),
    '5,000 nodes': ({ flags }) => scheduling(5000, flags.pods),
    'search alone, 50 nodes': ({ flags }) => searching(50, flags.pods),
    'search alone, 5,000 nodes': ({ flags }) => searching(5000, flags.pods),
  },
});
