// The metrics registry of a process. The same name returns the same metric to every caller, so that many loops in one process
// share `workqueue_depth` and the like.

import type { Clock } from '../ports.ts';
import { realClock } from '../time/clock.ts';
import { Counter, type FamilyInit, Gauge, Histogram } from './metric-family.ts';

export interface MetricInit<L extends string> {
  name: string;
  help: string;
  labelNames?: readonly L[];
}

export interface Metrics {
  counter<L extends string = never>(init: MetricInit<L>): Counter<L>;
  gauge<L extends string = never>(init: MetricInit<L>): Gauge<L>;
  histogram<L extends string = never>(init: MetricInit<L> & { buckets: readonly number[] }): Histogram<L>;
  /**
   * A gauge that is read when scraped; undefined leaves it out. Readers with the same labels are summed. Returns a
   * function that removes this reader.
   */
  gaugeFrom<L extends string = never>(
    init: MetricInit<L>,
    labels: Record<L, string>,
    read: () => number | undefined,
  ): () => void;
  /** The text format of Prometheus. */
  text(): string;
  readonly contentType: string;
}

interface Reader {
  labels: Record<string, string>;
  read: () => number | undefined;
}

export function createMetrics(options: { clock?: Pick<Clock, 'now'>; uptimeSeconds?: number } = {}): Metrics {
  const families = new Map<string, Counter | Gauge | Histogram>();
  const readers = new Map<string, Set<Reader>>();

  // Asking for one name as two types is a bug that shows at the first call.
  function shared<M>(init: MetricInit<string>, make: (init: FamilyInit) => Counter | Gauge | Histogram): M {
    const family = families.get(init.name) ?? make({ ...init, labelNames: init.labelNames ?? [] });
    families.set(init.name, family);
    return family as M;
  }

  function readersOf(init: MetricInit<string>): Set<Reader> {
    const known = readers.get(init.name) ?? new Set();
    readers.set(init.name, known);
    shared(init, (full) => new Gauge(full));
    return known;
  }

  function text(): string {
    for (const [name, each] of readers) {
      const gauge = families.get(name) as Gauge;
      gauge.clear();
      for (const { labels, read } of each) {
        const value = read();
        if (value !== undefined) gauge.inc(labels, value);
      }
    }
    return [...families.values()].map((family) => family.text()).join('\n');
  }

  const startedAtMs = (options.clock ?? realClock).now() - (options.uptimeSeconds ?? process.uptime()) * 1000;
  const started = {
    name: 'process_start_time_seconds',
    help: 'Start time of the process since unix epoch in seconds.',
  };
  shared<Gauge>(started, (init) => new Gauge(init)).set(startedAtMs / 1000);

  return {
    counter: (init) => shared(init, (full) => new Counter(full)),
    gauge: (init) => shared(init, (full) => new Gauge(full)),
    histogram: (init) => shared(init, (full) => new Histogram(full, init.buckets)),
    gaugeFrom(init, labels, read) {
      const known = readersOf(init);
      const reader = { labels, read };
      known.add(reader);
      return () => void known.delete(reader);
    },
    text,
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
  };
}
