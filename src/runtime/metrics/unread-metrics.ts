// Metrics that nobody reads: parts that share a process, or are simulated, count nothing, since there is no endpoint of
// theirs to scrape. Each part as a process of its own has real ones.

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

/** False where what is measured goes nowhere: not even the clock need be read then. */
export function areRead(metrics: Metrics | undefined): metrics is Metrics {
  return metrics !== undefined && metrics !== unreadMetrics;
}
