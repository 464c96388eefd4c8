// The provisioner's metrics, under the official names.

import type { Metrics } from '../../runtime/metrics/metrics.ts';

/** Prometheus' default buckets, which the official provisioner uses here. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts and durations of one kind of operation. */
export interface OperationMetrics<L extends string> {
  succeeded(labels: Record<L, string>, seconds: number): void;
  failed(labels: Record<L, string>): void;
}

export interface ProvisionerMetrics {
  provision: OperationMetrics<'class' | 'source'>;
  delete: OperationMetrics<'class'>;
}

export function provisionerMetrics(metrics: Metrics): ProvisionerMetrics {
  const ofClaim = 'persistent volume claims, by storage class and kind of source.';
  const ofVolume = 'persistent volumes, by storage class.';
  return {
    provision: operation('controller_persistentvolumeclaim_provision', ofClaim, ['class', 'source']),
    delete: operation('controller_persistentvolume_delete', ofVolume, ['class']),
  };

  function operation<L extends string>(prefix: string, what: string, labelNames: readonly L[]) {
    const counter = (name: string, help: string) =>
      metrics.counter({ name: `${prefix}_${name}`, help: `${help} with ${what}`, labelNames });
    const total = counter('total', 'Successes');
    const failures = counter('failed_total', 'Failed attempts');
    const duration = metrics.histogram({
      name: `${prefix}_duration_seconds`,
      help: `Seconds that a success took, with ${what}`,
      labelNames,
      buckets: BUCKETS,
    });
    return {
      succeeded(labels: Record<L, string>, seconds: number): void {
        total.inc(labels);
        duration.observe(labels, seconds);
      },
      failed: (labels: Record<L, string>): void => failures.inc(labels),
    };
  }
}
