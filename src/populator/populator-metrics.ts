// The metrics of lib-volume-populator: the duration of each population and how many are under way.

import type { Metrics } from '../runtime/metrics/metrics.ts';
import type { Clock } from '../runtime/ports.ts';

export function populatorMetrics({ metrics, clock }: { metrics?: Metrics | undefined; clock: Clock }) {
  const startedMs = new Map<string, number>();
  const seconds = metrics?.histogram({
    name: 'volume_populator_operation_seconds',
    help: 'Time taken by each populator operation',
    labelNames: ['result'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600],
  });
  metrics?.gaugeFrom(
    { name: 'volume_populator_operations_in_flight', help: 'Total number of operations in flight' },
    {},
    () => startedMs.size,
  );
  return {
    started: (claimUid: string): void => void startedMs.set(claimUid, clock.monotonicMs()),
    /** Not measured when it was started by an earlier process. */
    ended(claimUid: string, isFinished: boolean): void {
      const at = startedMs.get(claimUid);
      if (at !== undefined && isFinished)
        seconds?.observe({ result: 'success' }, (clock.monotonicMs() - at) / 1000);
      startedMs.delete(claimUid);
    },
  };
}
