// The metrics of the HTTP client, named as client-go's, so that existing dashboards show them.

import type { Count, Distribution } from '../metrics/metric-family.ts';
import type { Metrics } from '../metrics/metrics.ts';

export interface ClientMetrics {
  answered(observed: { verb: string; host: string; code: number; seconds: number }): void;
}

const BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export function clientMetrics(metrics: Metrics): ClientMetrics {
  const requests = metrics.counter({
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labelNames: ['code', 'method', 'host'],
  });
  const durations = metrics.histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Request latency in seconds. Broken down by verb, and host.',
    labelNames: ['verb', 'host'],
    buckets: BUCKETS,
  });
  /** There are few, and finding one by its labels costs more than counting. */
  const known = new Map<string, { requests: Count; durations: Distribution }>();
  const seriesOf = (verb: string, host: string, code: number) => {
    const key = `${verb} ${code} ${host}`;
    let series = known.get(key);
    if (series === undefined) {
      series = {
        requests: requests.labels({ code: String(code), method: verb, host }),
        durations: durations.labels({ verb, host }),
      };
      known.set(key, series);
    }
    return series;
  };
  return {
    answered({ verb, host, code, seconds }) {
      const series = seriesOf(verb, host, code);
      series.requests.inc();
      series.durations.observe(seconds);
    },
  };
}
