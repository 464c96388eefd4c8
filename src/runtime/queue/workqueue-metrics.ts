// The metrics of a work queue, under the names that client-go gives them, so that dashboards keep working.

import { WORKQUEUE_BUCKETS } from '../metrics/metric-buckets.ts';
import type { Metrics } from '../metrics/metrics.ts';

/** What is read from the queue when metrics are scraped. */
export interface QueueState {
  readonly depth: number;
  /** Ages of the runs under way, in seconds. */
  runAges(): number[];
}

export interface WorkqueueMetrics {
  added(): void;
  retried(): void;
  started(waitedMs: number): void;
  ended(workedMs: number): void;
}

export function workqueueMetrics(metrics: Metrics, name: string, state: QueueState): WorkqueueMetrics {
  const labelNames = ['name'] as const;
  const labels = { name };
  const gauge = (metric: string, help: string, read: () => number) =>
    metrics.gaugeFrom({ name: metric, help, labelNames }, labels, read);
  gauge('workqueue_depth', 'Current depth of workqueue', () => state.depth);
  gauge(
    'workqueue_unfinished_work_seconds',
    'How many seconds of work is in progress and has not been observed by work_duration.',
    () => state.runAges().reduce((sum, age) => sum + age, 0),
  );
  gauge(
    'workqueue_longest_running_processor_seconds',
    'How many seconds the longest running processor for workqueue has been running.',
    () => Math.max(0, ...state.runAges()),
  );
  const counter = (metric: string, help: string) =>
    metrics.counter({ name: metric, help, labelNames }).labels(labels);
  const histogram = (metric: string, help: string) =>
    metrics.histogram({ name: metric, help, labelNames, buckets: WORKQUEUE_BUCKETS }).labels(labels);
  const adds = counter('workqueue_adds_total', 'Total number of adds handled by workqueue');
  const retries = counter('workqueue_retries_total', 'Total number of retries handled by workqueue');
  const waits = histogram(
    'workqueue_queue_duration_seconds',
    'How long in seconds an item stays in workqueue before being requested.',
  );
  const works = histogram(
    'workqueue_work_duration_seconds',
    'How long in seconds processing an item from workqueue takes.',
  );
  return {
    added: () => adds.inc(),
    retried: () => retries.inc(),
    started: (waitedMs) => waits.observe(waitedMs / 1000),
    ended: (workedMs) => works.observe(workedMs / 1000),
  };
}
