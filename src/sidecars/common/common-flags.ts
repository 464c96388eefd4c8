// The flags that the official provisioner, attacher, resizer and snapshotter share, with their names and defaults.
// Two defaults differ on purpose: the pace of API requests is found out instead of fixed, and the lease is released on
// exit.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag, floatFlag, intFlag, mapFlag, stringFlag } from '../../runtime/flags/flag.ts';
import type { FlagValues } from '../../runtime/flags/parse-flags.ts';

const election = 'Leader election';
const endpoint = 'Metrics and health';
const api = 'Kubernetes API';

export const csiAddressFlag = stringFlag({
  help: 'Socket of the driver: /path, unix:/path or unix:///path',
  default: '/run/csi/socket',
});

export const kubeconfigFlag = stringFlag({
  help: 'Kubeconfig file; without it the service account of the pod, then KUBECONFIG, then ~/.kube/config',
  default: '',
  group: api,
});

/** How fast to ask the API server; both or none. */
export const paceFlags = {
  'kube-api-qps': floatFlag({
    help: 'Requests a second to the API server; without it the client adapts to the server',
    min: 0,
    group: api,
  }),
  'kube-api-burst': intFlag({
    help: 'Requests at once before --kube-api-qps counts (10 unless given)',
    min: 0,
    group: api,
  }),
};

export const endpointFlags = {
  'http-endpoint': stringFlag({
    help: 'Where to serve metrics and health, as in :8080; nowhere unless given',
    default: '',
    group: endpoint,
  }),
  'metrics-address': stringFlag({
    help: 'As --http-endpoint; only one of them',
    default: '',
    group: endpoint,
    deprecated: 'use --http-endpoint',
  }),
  'metrics-path': stringFlag({ help: 'Path of the metrics', default: '/metrics', group: endpoint }),
};

export const leaseFlags = {
  'leader-election': boolFlag({
    help: 'Work only while holding a Lease, so that several replicas may run',
    group: election,
  }),
  'leader-election-namespace': stringFlag({
    help: "Namespace of the Lease; the pod's, or the kubeconfig's, unless given",
    default: '',
    group: election,
  }),
  'leader-election-lease-duration': durationFlag({
    help: 'How long a Lease counts after its last renewal',
    default: 15_000,
    group: election,
  }),
  'leader-election-renew-deadline': durationFlag({
    help: 'How long the leader tries to renew before it stops',
    default: 10_000,
    group: election,
  }),
  'leader-election-retry-period': durationFlag({
    help: 'Time between attempts to take or renew the Lease',
    default: 5_000,
    group: election,
  }),
  'leader-election-labels': mapFlag({
    help: 'Labels of the Lease, as in k1:v1,k2:v2',
    separator: ':',
    group: election,
  }),
};

export const releaseOnExitGate = {
  ReleaseLeaderElectionOnExit: {
    default: true,
    stage: 'alpha',
    help: 'Give the Lease back on exit, so that the next replica takes over at once',
  },
} as const;

/** Each sidecar adds `feature-gates`, with `releaseOnExitGate` and gates of its own. */
export const commonFlags = {
  'csi-address': csiAddressFlag,
  kubeconfig: kubeconfigFlag,
  ...paceFlags,
  ...endpointFlags,
  'enable-pprof': boolFlag({
    help: "Serve CPU and heap profiles, in V8's formats, at /debug/pprof/ of --http-endpoint",
    group: endpoint,
  }),
  ...leaseFlags,
  automaxprocs: boolFlag({
    help: 'Fit the number of threads to the CPU limit',
    ignored: 'the work runs in one thread',
  }),
};

const withGates = { ...commonFlags, 'feature-gates': featureGatesFlag(releaseOnExitGate) };

export type CommonFlagValues = FlagValues<typeof withGates>;

/** The address of the endpoint; throws when it is given twice. */
export function endpointAddress(flags: FlagValues<typeof endpointFlags>): string | undefined {
  if (flags.httpEndpoint !== '' && flags.metricsAddress !== '') {
    throw new Error('give only one of --http-endpoint and --metrics-address');
  }
  return flags.httpEndpoint || flags.metricsAddress || undefined;
}
