// Metrics of an informer: lists, watch events, relists.

import type { Resource } from '../../api/object.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { Count } from '../metrics/metric-family.ts';
import type { Metrics } from '../metrics/metrics.ts';

export interface InformerMetrics {
  listed(objects: number): void;
  watched(type: 'ADDED' | 'MODIFIED' | 'DELETED'): void;
  failed(error: unknown): void;
}

export function informerMetrics(metrics: Metrics, { plural: resource }: Resource): InformerMetrics {
  const lists = metrics.counter({
    name: 'berth_informer_lists_total',
    help: 'Lists that informers completed.',
    labelNames: ['resource'],
  });
  const objects = metrics.gauge({
    name: 'berth_informer_listed_objects',
    help: 'Objects in the last list.',
    labelNames: ['resource'],
  });
  const events = metrics.counter({
    name: 'berth_informer_watch_events_total',
    help: 'Watch events that informers received.',
    labelNames: ['resource', 'type'],
  });
  const failures = metrics.counter({
    name: 'berth_informer_failures_total',
    help: 'Lists and watches that failed, by reason.',
    labelNames: ['resource', 'reason'],
  });
  const watched: Partial<Record<string, Count>> = {};
  return {
    listed(count) {
      lists.inc({ resource });
      objects.set({ resource }, count);
    },
    watched: (type) => {
      watched[type] ??= events.labels({ resource, type });
      watched[type].inc();
    },
    failed: (error) =>
      failures.inc({ resource, reason: error instanceof KubeError ? error.reason : 'Unknown' }),
  };
}
