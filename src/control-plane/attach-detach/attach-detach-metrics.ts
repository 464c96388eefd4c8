// What attach-detach counts, under the names of kube-controller-manager.

import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Clock } from '../../runtime/ports.ts';

const PLUGIN = 'kubernetes.io/csi';
/** Those of `storage_operation_duration_seconds` in Kubernetes. */
const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export interface AttachDetachMetrics {
  forced(reason: 'timeout' | 'out-of-service'): void;
  /** Begins an operation; the returned function ends it. */
  operation(name: 'volume_attach' | 'volume_detach'): (status: 'success' | 'fail-unknown') => void;
  /** Reads the sizes of both states at each scrape, until the returned function is called. */
  follow(sizes: { desired: () => number; actual: () => number }): () => void;
}

export function attachDetachMetrics(metrics: Metrics | undefined, clock: Clock): AttachDetachMetrics {
  const forced = metrics?.counter({
    name: 'attachdetach_controller_forced_detaches',
    help: 'Number of times the A/D Controller performed a forced detach',
    labelNames: ['reason'],
  });
  const seconds = metrics?.histogram({
    name: 'storage_operation_duration_seconds',
    help: 'Storage operation duration',
    labelNames: ['volume_plugin', 'operation_name', 'status', 'migrated'],
    buckets: BUCKETS,
  });
  const total = {
    name: 'attachdetach_controller_total_volumes',
    help: 'Number of volumes in A/D Controller',
    labelNames: ['plugin_name', 'state'] as const,
  };
  return {
    forced: (reason) => forced?.inc({ reason }),
    operation(name) {
      const startMs = clock.monotonicMs();
      return (status) =>
        seconds?.observe(
          { volume_plugin: PLUGIN, operation_name: name, status, migrated: 'false' },
          (clock.monotonicMs() - startMs) / 1000,
        );
    },
    follow({ desired, actual }) {
      const labels = (state: string) => ({ plugin_name: PLUGIN, state });
      const stops = [
        metrics?.gaugeFrom(total, labels('desired_state_of_world'), desired),
        metrics?.gaugeFrom(total, labels('actual_state_of_world'), actual),
      ];
      return () => {
        for (const stop of stops) stop?.();
      };
    },
  };
}
