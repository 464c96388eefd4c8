// The flags that the official provisioner, attacher, resizer and snapshotter share, with their names and defaults.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag, stringFlag } from '../../runtime/flags/flag.ts';
import type { FlagValues } from '../../runtime/flags/parse-flags.ts';
import {
  endpointFlags,
  kubeconfigFlag,
  leaseFlags,
  paceFlags,
  releaseOnExitGate,
  shardingFlags,
} from '../../runtime/process/process-flags.ts';

export const csiAddressFlag = stringFlag({
  help: 'Socket of the driver: /path, unix:/path or unix:///path',
  default: '/run/csi/socket',
});

export const retryFlags = {
  'retry-interval-start': durationFlag({
    help: 'Initial retry interval; doubles with each failure',
    default: 1_000,
    min: 1,
  }),
  'retry-interval-max': durationFlag({ help: 'Maximum retry interval', default: 300_000, min: 1 }),
};

export const masterFlag = stringFlag({
  help: 'Address of the API server',
  default: '',
  ignored: 'the kubeconfig says where the API server is',
});

/** Each sidecar adds `feature-gates`, with `releaseOnExitGate` and gates of its own. */
export const commonFlags = {
  'csi-address': csiAddressFlag,
  kubeconfig: kubeconfigFlag,
  ...paceFlags,
  ...endpointFlags,
  'enable-pprof': boolFlag({
    help: "Serve CPU and heap profiles, in V8's formats, at /debug/pprof/ of --http-endpoint",
    group: 'Metrics and health',
  }),
  ...leaseFlags,
  ...shardingFlags,
  automaxprocs: boolFlag({
    help: 'Fit the number of threads to the CPU limit',
    ignored: 'the work runs in one thread',
  }),
};

const withGates = { ...commonFlags, 'feature-gates': featureGatesFlag(releaseOnExitGate) };

export type CommonFlagValues = FlagValues<typeof withGates>;
