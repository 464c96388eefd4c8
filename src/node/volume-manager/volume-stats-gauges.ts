// The gauges `kubelet_volume_stats_*`, labelled by claim. A claim's gauges exist while at least one pod's last answer had
// them; pods that share a claim share its gauges.

import type { Metrics } from '../../runtime/metrics/metrics.ts';

interface Usage {
  total: bigint;
  available: bigint;
  used: bigint;
}

export interface ClaimStats {
  /** Absent, as officially, counts as zeros. */
  bytes: Usage | undefined;
  inodes: Usage | undefined;
  /** Only of drivers that report conditions. */
  isAbnormal?: boolean;
}

const GAUGES: readonly {
  name: string;
  help: string;
  read(stats: ClaimStats): bigint | number | boolean | undefined;
}[] = [
  {
    name: 'capacity_bytes',
    help: 'Capacity in bytes of the volume',
    read: ({ bytes }) => bytes?.total ?? 0,
  },
  {
    name: 'available_bytes',
    help: 'Number of available bytes in the volume',
    read: ({ bytes }) => bytes?.available ?? 0,
  },
  { name: 'used_bytes', help: 'Number of used bytes in the volume', read: ({ bytes }) => bytes?.used ?? 0 },
  {
    name: 'inodes',
    help: 'Maximum number of inodes in the volume',
    read: ({ inodes }) => inodes?.total ?? 0,
  },
  {
    name: 'inodes_free',
    help: 'Number of free inodes in the volume',
    read: ({ inodes }) => inodes?.available ?? 0,
  },
  {
    name: 'inodes_used',
    help: 'Number of used inodes in the volume',
    read: ({ inodes }) => inodes?.used ?? 0,
  },
  {
    name: 'health_status_abnormal',
    help: 'Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy',
    read: ({ isAbnormal }) => isAbnormal,
  },
];

export function claimGauges(metrics: Metrics | undefined) {
  /** By claim, then by pod UID; the last pod that answered is shown. */
  const byClaim = new Map<string, { pods: Map<string, ClaimStats>; unregister(): void }>();

  function register(claimKey: string): () => void {
    const [namespace = '', persistentvolumeclaim = ''] = claimKey.split('/');
    const latest = () => [...(byClaim.get(claimKey)?.pods.values() ?? [])].at(-1);
    const stops = GAUGES.map(({ name, help, read }) =>
      metrics?.gaugeFrom(
        {
          name: `kubelet_volume_stats_${name}`,
          help,
          labelNames: ['namespace', 'persistentvolumeclaim'] as const,
        },
        { namespace, persistentvolumeclaim },
        () => {
          const stats = latest();
          const value = stats && read(stats);
          return value === undefined ? undefined : Number(value);
        },
      ),
    );
    return () => {
      for (const stop of stops) stop?.();
    };
  }

  function remove(podUid: string): void {
    for (const [claimKey, { pods, unregister }] of byClaim) {
      if (!pods.delete(podUid) || pods.size > 0) continue;
      unregister();
      byClaim.delete(claimKey);
    }
  }

  return {
    /** Replaces what this pod's volumes showed before. */
    set(podUid: string, byKey: ReadonlyMap<string, ClaimStats>): void {
      if (metrics === undefined) return;
      remove(podUid);
      for (const [claimKey, stats] of byKey) {
        const entry = byClaim.get(claimKey) ?? { pods: new Map(), unregister: register(claimKey) };
        entry.pods.set(podUid, stats);
        byClaim.set(claimKey, entry);
      }
    },
    remove,
  };
}
