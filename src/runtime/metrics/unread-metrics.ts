// No-op metrics for parts that have no endpoint to scrape: those that share a process or are simulated.

import type { Counter, Gauge, Histogram } from './metric-family.ts';
import type { Metrics } from './metrics.ts';

const nothing = (): void => {};
const metric = {
  inc: nothing,
  dec: nothing,
  set: nothing,
  observe: nothing,
  labels: () => metric,
};

export const unreadMetrics: Metrics = {
  counter: <L extends string>() => metric as unknown as Counter<L>,
  gauge: <L extends string>() => metric as unknown as Gauge<L>,
  histogram: <L extends string>() => metric as unknown as Histogram<L>,
  gaugeFrom: () => nothing,
  text: () => '',
  contentType: 'text/plain',
};

/** False for no-op metrics: callers then need not even read the clock. */
export function areRead(metrics: Metrics | undefined): metrics is Metrics {
  return metrics !== undefined && metrics !== unreadMetrics;
}
