// Metrics of the parts of a cluster, each in a registry of its own, as if it were a process. Served as
// `GET /berth/metrics?part=provisioner` in Prometheus' text format; without a part, the names of the parts.

import { createMetrics, type Metrics } from '../runtime/metrics/metrics.ts';
import type { Clock } from '../runtime/ports.ts';
import type { PathHandler } from '../runtime/process/path-handler.ts';

export const METRICS_PATH = '/berth/metrics';

export class PartMetrics {
  readonly #clock: Clock;
  readonly #byPart = new Map<string, Metrics>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(part: string): Metrics {
    let metrics = this.#byPart.get(part);
    if (metrics === undefined) {
      metrics = createMetrics({ clock: this.#clock });
      this.#byPart.set(part, metrics);
    }
    return metrics;
  }

  find(part: string): Metrics | undefined {
    return this.#byPart.get(part);
  }

  names(): string[] {
    return [...this.#byPart.keys()].sort();
  }
}

/** Without `metrics`, the answer says how to enable them. */
export function metricsPath(metrics: PartMetrics | undefined): PathHandler {
  return async ({ query, response }) => {
    const say = (status: number, text: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'Content-Type': type });
      response.end(text);
    };
    if (metrics === undefined) return say(404, 'nothing is counted: start berth up with --metrics\n');
    const part = query.get('part');
    const names = metrics.names().join('\n');
    if (part === null) return say(200, `${names}\n`);
    const found = metrics.find(part);
    if (found === undefined)
      return say(404, `no part ${JSON.stringify(part)} counts anything; these do:\n${names}\n`);
    say(200, found.text(), found.contentType);
  };
}
