// Throughput of the control plane: claims bound to pre-created volumes.

import { intFlag } from '../src/runtime/flags/flag.ts';
import { binding } from './binder-candidates.ts';
import { defineBenchmark } from './harness.ts';

export const benchmark = defineBenchmark({
  summary: 'Claims bound to volumes made by hand, on the embedded API server',
  operation: 'claim',
  flags: { claims: intFlag({ help: 'Volumes, and claims, a round', default: 1000, min: 1 }) },
  candidates: {
    'volumes first': ({ flags }) => binding(flags.claims, 'volumes'),
    'claims first': ({ flags }) => binding(flags.claims, 'claims'),
  },
});
