// How long CSI calls take, by driver, method and code, under the names and buckets of the official components:
// `csi_sidecar_operations_seconds`, `csi_plugin_operations_seconds`, `csi_operations_seconds`.

import { Histogram, type Registry } from 'prom-client';
import { goCodeName } from './grpc-code.ts';

export interface OperationMetrics {
  /** Until it is known, calls count under `unknown-driver`. */
  setDriverName(name: string): void;
  observe(operation: { path: string; rawCode: number; seconds: number }): void;
}

const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export function operationMetrics(options: {
  registry: Registry;
  /** `csi_sidecar` for sidecars, `csi_plugin` for drivers, `csi` for the node and the control plane. */
  prefix: 'csi_sidecar' | 'csi_plugin' | 'csi';
  driverName?: string;
}): OperationMetrics {
  const name = `${options.prefix}_operations_seconds`;
  // Connections to several drivers share one registry, and with it one histogram.
  const existing = options.registry.getSingleMetric(name) as
    | Histogram<'driver_name' | 'method_name' | 'grpc_status_code'>
    | undefined;
  const histogram =
    existing ??
    new Histogram({
      name,
      help: 'Duration of Container Storage Interface calls by gRPC status code',
      labelNames: ['driver_name', 'method_name', 'grpc_status_code'] as const,
      buckets,
      registers: [options.registry],
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
