// Metrics that nobody reads: the parts of a cluster in one process count nothing, since there is no endpoint of theirs to
// scrape. Each part as a process of its own has real ones.

import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Metrics } from '../runtime/metrics.ts';

const nothing = (): void => {};
const metric = {
  inc: nothing,
  dec: nothing,
  set: nothing,
  observe: nothing,
  remove: nothing,
  reset: nothing,
  labels: () => metric,
  startTimer: () => () => 0,
};

export const unreadMetrics: Metrics = {
  // Never asked for: only endpoints read registries.
  registry: undefined as unknown as Registry,
  counter: <L extends string>() => metric as unknown as Counter<L>,
  gauge: <L extends string>() => metric as unknown as Gauge<L>,
  histogram: <L extends string>() => metric as unknown as Histogram<L>,
  gaugeFrom: () => nothing,
  text: async () => '',
  contentType: 'text/plain',
};
