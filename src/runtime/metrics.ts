// A process's metrics: one registry of its own, in which the same name is the same metric for everyone who asks, so
// that many loops in one process share `workqueue_depth` and the like. Nothing is computed until it is scraped.

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { realClock } from './clock.ts';
import type { Clock } from './ports.ts';

export interface MetricInit<L extends string> {
  name: string;
  help: string;
  labelNames?: readonly L[];
}

export interface Metrics {
  readonly registry: Registry;
  counter<L extends string = never>(init: MetricInit<L>): Counter<L>;
  gauge<L extends string = never>(init: MetricInit<L>): Gauge<L>;
  histogram<L extends string = never>(init: MetricInit<L> & { buckets: readonly number[] }): Histogram<L>;
  /**
   * A gauge that is read when scraped. Several readers with the same labels are added up. Returns a function that
   * takes this reader out.
   */
  gaugeFrom<L extends string = never>(
    init: MetricInit<L>,
    labels: Record<L, string>,
    read: () => number,
  ): () => void;
  /** The text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
}

interface MetricConfig {
  name: string;
  help: string;
  labelNames: readonly string[];
  registers: Registry[];
}

interface Reader {
  labels: Record<string, string>;
  read: () => number;
}

export function createMetrics(options: { clock?: Pick<Clock, 'now'>; uptimeSeconds?: number } = {}): Metrics {
  const registry = new Registry();
  const readers = new Map<string, Set<Reader>>();

  /** prom-client throws on a second registration; here the first one is handed out again. */
  function shared<M>(init: MetricInit<string>, make: (config: MetricConfig) => M): M {
    const existing = registry.getSingleMetric(init.name);
    // The name is the contract: asking for one name as two types is a bug that shows at the first call on it.
    if (existing !== undefined) return existing as M;
    const { name, help, labelNames = [] } = init;
    return make({ name, help, labelNames, registers: [registry] });
  }

  function readersOf(init: MetricInit<string>): Set<Reader> {
    let known = readers.get(init.name);
    if (known !== undefined) return known;
    known = new Set();
    readers.set(init.name, known);
    const each = known;
    shared(init, (config) => new Gauge({ ...config, collect: collectFrom(each) }));
    return known;
  }

  const startedAtMs = (options.clock ?? realClock).now() - (options.uptimeSeconds ?? process.uptime()) * 1000;
  shared(
    { name: 'process_start_time_seconds', help: 'Start time of the process since unix epoch in seconds.' },
    (config) => new Gauge(config),
  ).set(startedAtMs / 1000);

  return {
    registry,
    counter: (init) => shared(init, (config) => new Counter(config)),
    gauge: (init) => shared(init, (config) => new Gauge(config)),
    histogram: (init) => shared(init, (config) => new Histogram({ ...config, buckets: [...init.buckets] })),
    gaugeFrom(init, labels, read) {
      const known = readersOf(init);
      const reader = { labels, read };
      known.add(reader);
      return () => void known.delete(reader);
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function collectFrom(readers: Set<Reader>): (this: Gauge) => void {
  return function collect() {
    this.reset();
    for (const { labels, read } of readers) this.inc(labels, read());
  };
}
