// Metrics that nobody scrapes: the same instruments, without a registry's cost for each of thousands of processes.

import type { Metrics } from '../runtime/metrics.ts';

const instrument = {
  inc() {},
  dec() {},
  set() {},
  observe() {},
  remove() {},
  reset() {},
  startTimer: () => () => 0,
  labels: () => instrument,
};

/** Stands in for the real instruments, of which components use only the methods above. */
export const quietMetrics = {
  counter: () => instrument,
  gauge: () => instrument,
  histogram: () => instrument,
  gaugeFrom: () => () => {},
  text: async () => '',
  contentType: 'text/plain',
} as unknown as Metrics;
