// The scheduler's metrics, under kube-scheduler's names.

import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Clock } from '../../runtime/ports.ts';

const BUCKETS = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8, 16];

export interface SchedulerMetrics {
  /** Begins an attempt; the returned function ends it. */
  attempt(): (result: 'scheduled' | 'unschedulable') => void;
  /** Reads the number of unschedulable pods at each scrape, until the returned function is called. */
  follow(unschedulable: () => number): () => void;
}

export function schedulerMetrics(metrics: Metrics | undefined, clock: Clock): SchedulerMetrics {
  const attempts = metrics?.counter({
    name: 'scheduler_schedule_attempts_total',
    help: 'Number of attempts to schedule pods, by the result.',
    labelNames: ['result', 'profile'],
  });
  const seconds = metrics?.histogram({
    name: 'scheduler_scheduling_attempt_duration_seconds',
    help: 'Scheduling attempt latency in seconds (scheduling algorithm + binding)',
    labelNames: ['result', 'profile'],
    buckets: BUCKETS,
  });
  return {
    attempt() {
      const startMs = clock.monotonicMs();
      return (result) => {
        const labels = { result, profile: 'default-scheduler' };
        attempts?.inc(labels);
        seconds?.observe(labels, (clock.monotonicMs() - startMs) / 1000);
      };
    },
    follow(unschedulable) {
      const pending = {
        name: 'scheduler_pending_pods',
        help: 'Number of pending pods, by the queue type.',
        labelNames: ['queue'] as const,
      };
      return metrics?.gaugeFrom(pending, { queue: 'unschedulable' }, unschedulable) ?? (() => {});
    },
  };
}
