// How long streams take, under the name and labels of the official sidecar. Names of snapshots are counted only for callers
// that were let in: a stranger must not fill the memory with made-up names.

import { CsiError } from '../../csi/csi-error.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { CSI_OPERATION_BUCKETS } from '../../runtime/metrics/metric-buckets.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Clock } from '../../runtime/ports.ts';
import { goCodeName, grpcCodes } from '../../wire/grpc/grpc-code.ts';

export interface StreamMetrics {
  begin(operation: 'MetadataAllocated' | 'MetadataDelta'): {
    about(snapshots: { target: string; base: string }): void;
    /** The first call counts. */
    end(error: unknown): void;
  };
}

export function streamMetrics({
  metrics,
  clock,
  driver,
}: {
  metrics: Metrics;
  clock: Clock;
  driver: DriverName;
}): StreamMetrics {
  const histogram = metrics.histogram({
    name: 'snapshot_metadata_controller_operations_seconds',
    help: 'Duration of snapshot metadata streams by gRPC status code',
    labelNames: ['driver_name', 'method_name', 'grpc_status_code', 'target_snapshot', 'base_snapshot'],
    buckets: CSI_OPERATION_BUCKETS,
  });
  return {
    begin(operation) {
      const startMs = clock.monotonicMs();
      let snapshots = { target: '', base: '' };
      let isOver = false;
      return {
        about(named) {
          snapshots = named;
        },
        end(error) {
          if (isOver) return;
          isOver = true;
          const code =
            error === undefined
              ? grpcCodes.OK
              : error instanceof CsiError
                ? error.rawCode
                : grpcCodes.INTERNAL;
          histogram.observe(
            {
              driver_name: driver,
              method_name: operation,
              grpc_status_code: goCodeName(code),
              target_snapshot: snapshots.target,
              base_snapshot: snapshots.base,
            },
            (clock.monotonicMs() - startMs) / 1000,
          );
        },
      };
    },
  };
}
