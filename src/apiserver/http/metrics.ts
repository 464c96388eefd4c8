// The server's metrics, under kube-apiserver's names.

import type { Clock } from '../../runtime/ports.ts';
import type { Usage } from './body-reader.ts';
import type { RequestLabels } from './request-labels.ts';

const BUCKETS_SECONDS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10, 30, 60];

interface Histogram {
  readonly labels: string;
  readonly buckets: number[];
  count: number;
  sumSeconds: number;
}

/** Metrics that are kept elsewhere and exposed here. */
export interface ServerState {
  readonly storedObjects: ReadonlyMap<string, number>;
  readonly revision: number;
  readonly bodies: Readonly<Usage>;
}

export class RequestMetrics {
  readonly #clock: Clock;
  readonly #totals = new Map<string, number>();
  readonly #durations = new Map<string, Histogram>();
  readonly #longRunning = new Map<string, number>();
  #inFlight = { readOnly: 0, mutating: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns a function to call with the status code when the request is over. */
  start(labels: RequestLabels, options: { longRunning: boolean; mutating: boolean }): (code: number) => void {
    const text = textOf(labels);
    const beganMs = this.#clock.monotonicMs();
    const flight = options.mutating ? 'mutating' : 'readOnly';
    if (options.longRunning) this.#longRunning.set(text, (this.#longRunning.get(text) ?? 0) + 1);
    else this.#inFlight[flight]++;
    let over = false;
    return (code) => {
      if (over) return;
      over = true;
      if (options.longRunning) this.#longRunning.set(text, (this.#longRunning.get(text) ?? 1) - 1);
      else {
        this.#inFlight[flight]--;
        this.#observe(text, (this.#clock.monotonicMs() - beganMs) / 1000);
      }
      const key = `${text},code="${code}"`;
      this.#totals.set(key, (this.#totals.get(key) ?? 0) + 1);
    };
  }

  #observe(labels: string, seconds: number): void {
    let histogram = this.#durations.get(labels);
    if (histogram === undefined) {
      histogram = { labels, buckets: BUCKETS_SECONDS.map(() => 0), count: 0, sumSeconds: 0 };
      this.#durations.set(labels, histogram);
    }
    const at = BUCKETS_SECONDS.findIndex((bound) => seconds <= bound);
    if (at >= 0) histogram.buckets[at] = (histogram.buckets[at] ?? 0) + 1;
    histogram.count++;
    histogram.sumSeconds += seconds;
  }

  /** The Prometheus text format. */
  render(state: ServerState): string {
    const { storedObjects, revision, bodies } = state;
    const lines: string[] = [];
    const section = (name: string, type: string, help: string, samples: Iterable<string>) =>
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples);
    section(
      'apiserver_request_total',
      'counter',
      'Requests by verb, group, version, resource, scope and status code.',
      [...this.#totals].map(([labels, value]) => `apiserver_request_total{${labels}} ${value}`),
    );
    section(
      'apiserver_request_duration_seconds',
      'histogram',
      'Response latency, without watches.',
      [...this.#durations.values()].flatMap(histogramLines),
    );
    section('apiserver_current_inflight_requests', 'gauge', 'Requests being answered now.', [
      `apiserver_current_inflight_requests{request_kind="mutating"} ${this.#inFlight.mutating}`,
      `apiserver_current_inflight_requests{request_kind="readOnly"} ${this.#inFlight.readOnly}`,
    ]);
    section(
      'apiserver_longrunning_requests',
      'gauge',
      'Watches that are open now.',
      [...this.#longRunning].map(([labels, value]) => `apiserver_longrunning_requests{${labels}} ${value}`),
    );
    section(
      'apiserver_storage_objects',
      'gauge',
      'Stored objects by resource.',
      [...storedObjects].map(([type, count]) => `apiserver_storage_objects{resource="${type}"} ${count}`),
    );
    section(
      'berth_apiserver_request_bodies',
      'gauge',
      'Request bodies in flight: waiting, arriving, undecoded.',
      [`berth_apiserver_request_bodies ${bodies.bodies}`],
    );
    section('berth_apiserver_request_body_bytes', 'gauge', 'Bytes reserved for request bodies.', [
      `berth_apiserver_request_body_bytes ${bodies.bytes}`,
    ]);
    section('berth_apiserver_storage_revision', 'counter', 'Newest committed revision.', [
      `berth_apiserver_storage_revision ${revision}`,
    ]);
    return `${lines.join('\n')}\n`;
  }
}

function histogramLines({ labels, buckets, count, sumSeconds }: Histogram): string[] {
  const name = 'apiserver_request_duration_seconds';
  let cumulative = 0;
  return [
    ...buckets.map((own, at) => {
      cumulative += own;
      return `${name}_bucket{${labels},le="${BUCKETS_SECONDS[at]}"} ${cumulative}`;
    }),
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${sumSeconds}`,
    `${name}_count{${labels}} ${count}`,
  ];
}

function textOf({ verb, group, version, resource, subresource, scope }: RequestLabels): string {
  return (
    `verb="${verb}",group="${group}",version="${version}",resource="${resource}",` +
    `subresource="${subresource}",scope="${scope}"`
  );
}
