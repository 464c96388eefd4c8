// The kubelet's flags that `berth node` and `berth up` share.

import { STATS_PERIOD_MS } from '../node/volume-manager/volume-stats.ts';
import { durationFlag } from '../runtime/flags/flag.ts';
import { kubernetesGates } from './kubernetes-gates.ts';

export const nodeFlags = {
  'volume-stats-agg-period': durationFlag({
    help: 'Interval at which drivers are asked for the usage and condition of mounted volumes, with a jitter of up to once more; a negative number turns it off',
    default: STATS_PERIOD_MS,
    min: Number.NEGATIVE_INFINITY,
  }),
  'feature-gates': kubernetesGates,
};
