// The flags that processes which talk to an API server share, with the names and defaults of the official sidecars, and
// what the process runner takes from them. Two defaults differ on purpose: the pace of API requests adapts to the server
// instead of being fixed, and the Lease is released on exit.

import { boolFlag, durationFlag, floatFlag, inGroup, intFlag, mapFlag, stringFlag } from '../flags/flag.ts';
import { FlagError, type FlagValues } from '../flags/parse-flags.ts';
import type { KubeConfig } from '../kube/kube-config.ts';
import { loadKubeConfig } from '../kube/load-kube-config.ts';
import { DEFAULT_MEMBER_DURATION_MS } from '../sharding/member-times.ts';

const election = 'Leader election';
const endpoint = 'Metrics and health';
const api = 'Kubernetes API';

export const kubeconfigFlag = stringFlag({
  help: 'Kubeconfig file; without it the service account of the pod, then KUBECONFIG, then ~/.kube/config',
  default: '',
  group: api,
});

/** How fast to ask the API server; both or none. */
export const paceFlags = inGroup(api, {
  'kube-api-qps': floatFlag({
    help: 'Requests a second to the API server; without it the client adapts to the server',
    min: 0,
  }),
  'kube-api-burst': intFlag({
    help: 'Requests at once before --kube-api-qps counts (10 unless given)',
    min: 0,
  }),
});

export const endpointFlags = inGroup(endpoint, {
  'http-endpoint': stringFlag({
    help: 'Where to serve metrics and health, as in :8080; nowhere unless given',
    default: '',
  }),
  'metrics-address': stringFlag({
    help: 'As --http-endpoint; only one of them',
    default: '',
    deprecated: 'use --http-endpoint',
  }),
  'metrics-path': stringFlag({ help: 'Path of the metrics', default: '/metrics' }),
});

export const leaseFlags = inGroup(election, {
  'leader-election': boolFlag({
    help: 'Work only while holding a Lease, so that several replicas may run',
  }),
  'leader-election-namespace': stringFlag({
    help: "Namespace of the Lease; the pod's, or the kubeconfig's, unless given",
    default: '',
  }),
  'leader-election-lease-duration': durationFlag({
    help: 'How long a Lease counts after its last renewal',
    default: 15_000,
  }),
  'leader-election-renew-deadline': durationFlag({
    help: 'How long the leader tries to renew before it stops',
    default: 10_000,
  }),
  'leader-election-retry-period': durationFlag({
    help: 'Time between attempts to take or renew the Lease',
    default: 5_000,
  }),
  'leader-election-labels': mapFlag({ help: 'Labels of the Lease, as in k1:v1,k2:v2', separator: ':' }),
});

/** Several replicas at once, each on its share. */
export const shardingFlags = inGroup('Sharding', {
  sharding: boolFlag({
    help: 'Work in several replicas at once, each on its share of the objects; implies --leader-election',
  }),
  'sharding-lease-duration': durationFlag({
    help: "How long a replica's own Lease counts after its last renewal; its share moves after this time when it dies",
    default: DEFAULT_MEMBER_DURATION_MS,
    min: 1_000,
  }),
});

export const releaseOnExitGate = {
  ReleaseLeaderElectionOnExit: {
    default: true,
    stage: 'alpha',
    help: 'Give the Lease back on exit, so that the next replica takes over at once',
  },
} as const;

/** The address of the endpoint; throws when it is given twice. */
function endpointAddress(flags: FlagValues<typeof endpointFlags>): string | undefined {
  if (flags.httpEndpoint !== '' && flags.metricsAddress !== '') {
    throw new FlagError('give only one of --http-endpoint and --metrics-address');
  }
  return flags.httpEndpoint || flags.metricsAddress || undefined;
}

/** Undefined when the endpoint is not to be served. */
export function endpointOf(
  flags: FlagValues<typeof endpointFlags> & { enablePprof?: boolean },
): { address: string; metricsPath: string; profiles: boolean } | undefined {
  const address = endpointAddress(flags);
  const { metricsPath, enablePprof: profiles = false } = flags;
  return address === undefined ? undefined : { address, metricsPath, profiles };
}

export interface RequestLimits {
  qps?: number;
  burst?: number;
}

export function limitsOf({ kubeApiQps, kubeApiBurst }: FlagValues<typeof paceFlags>): RequestLimits {
  return {
    ...(kubeApiQps !== undefined && { qps: kubeApiQps }),
    ...(kubeApiBurst !== undefined && { burst: kubeApiBurst }),
  };
}

export interface ElectionTimes {
  leaseDurationMs: number;
  renewDeadlineMs: number;
  retryPeriodMs: number;
  labels?: Record<string, string>;
  /** True unless given. */
  releaseOnExit?: boolean;
  /** Several replicas work at once; absent: one leads. */
  sharding?: { memberDurationMs: number } | undefined;
}

type LeaseTimes = Pick<
  FlagValues<typeof leaseFlags>,
  'leaderElectionLeaseDurationMs' | 'leaderElectionRenewDeadlineMs' | 'leaderElectionRetryPeriodMs'
>;

/** Undefined: one replica leads. Throws when the times do not fit together. */
export function shardingOf(
  flags: FlagValues<typeof shardingFlags> & Pick<LeaseTimes, 'leaderElectionRenewDeadlineMs'>,
): ElectionTimes['sharding'] {
  const { sharding, shardingLeaseDurationMs: memberDurationMs, leaderElectionRenewDeadlineMs } = flags;
  if (!sharding) return undefined;
  if (memberDurationMs > leaderElectionRenewDeadlineMs) {
    throw new FlagError(
      `--sharding-lease-duration (${memberDurationMs} ms) must not be above --leader-election-renew-deadline (${leaderElectionRenewDeadlineMs} ms)`,
    );
  }
  return { memberDurationMs };
}

/** From the flags of the lease. */
export function electionTimes(flags: LeaseTimes): ElectionTimes {
  return {
    leaseDurationMs: flags.leaderElectionLeaseDurationMs,
    renewDeadlineMs: flags.leaderElectionRenewDeadlineMs,
    retryPeriodMs: flags.leaderElectionRetryPeriodMs,
  };
}

/** `--kubeconfig`; without it the service account of the pod, then the environment's. */
export const kubeConfigOf = (
  { kubeconfig }: { kubeconfig: string },
  env: Readonly<Record<string, string | undefined>>,
): Promise<KubeConfig> => loadKubeConfig({ env, ...(kubeconfig !== '' && { path: kubeconfig }) });
