// The provisioner's metrics, under the official names.

import type { Metrics } from '../../runtime/metrics/metrics.ts';

/** Prometheus' default buckets, which the official provisioner uses here. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface ProvisionerMetrics {
  provisioned(labels: { class: string; source: string }, seconds: number): void;
  provisionFailed(labels: { class: string; source: string }): void;
  deleted(labels: { class: string }, seconds: number): void;
  deleteFailed(labels: { class: string }): void;
}

export function provisionerMetrics(metrics: Metrics): ProvisionerMetrics {
  const ofClaim = 'persistent volume claims, by storage class and kind of source.';
  const ofVolume = 'persistent volumes, by storage class.';
  const provision = family('controller_persistentvolumeclaim_provision', ofClaim, ['class', 'source']);
  const deletion = family('controller_persistentvolume_delete', ofVolume, ['class']);

  function family<L extends string>(name: string, what: string, labelNames: readonly L[]) {
    return {
      total: metrics.counter({ name: `${name}_total`, help: `Successes with ${what}`, labelNames }),
      failed: metrics.counter({
        name: `${name}_failed_total`,
        help: `Failed attempts with ${what}`,
        labelNames,
      }),
      seconds: metrics.histogram({
        name: `${name}_duration_seconds`,
        help: `Seconds that a success took, with ${what}`,
        labelNames,
        buckets: BUCKETS,
      }),
    };
  }

  return {
    provisioned(labels, seconds) {
      provision.total.inc(labels);
      provision.seconds.observe(labels, seconds);
    },
    provisionFailed: (labels) => provision.failed.inc(labels),
    deleted(labels, seconds) {
      deletion.total.inc(labels);
      deletion.seconds.observe(labels, seconds);
    },
    deleteFailed: (labels) => deletion.failed.inc(labels),
  };
}
