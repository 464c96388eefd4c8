// How long CSI calls take, by driver, method and code, under the names and buckets of the official components:
// `csi_sidecar_operations_seconds`, `csi_plugin_operations_seconds`, `csi_operations_seconds`.

import { CSI_OPERATION_BUCKETS } from '../../runtime/metrics/metric-buckets.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import { goCodeName } from '../../wire/grpc/grpc-code.ts';

export interface OperationMetrics {
  /** Until it is known, calls count under `unknown-driver`. */
  setDriverName(name: string): void;
  observe(operation: { path: string; rawCode: number; seconds: number }): void;
}

/** Connections to several drivers share one registry, and with it one histogram. */
export function operationMetrics(options: {
  metrics: Metrics;
  /** `csi_sidecar` for sidecars, `csi_plugin` for drivers, `csi` for the node and the control plane. */
  prefix: 'csi_sidecar' | 'csi_plugin' | 'csi';
  driverName?: string;
}): OperationMetrics {
  const histogram = options.metrics.histogram({
    name: `${options.prefix}_operations_seconds`,
    help: 'Duration of Container Storage Interface calls by gRPC status code',
    labelNames: ['driver_name', 'method_name', 'grpc_status_code'],
    buckets: CSI_OPERATION_BUCKETS,
  });
  let driverName = options.driverName ?? 'unknown-driver';
  return {
    setDriverName(known) {
      driverName = known;
    },
    observe({ path, rawCode, seconds }) {
      histogram.observe(
        { driver_name: driverName, method_name: path, grpc_status_code: goCodeName(rawCode) },
        seconds,
      );
    },
  };
}
