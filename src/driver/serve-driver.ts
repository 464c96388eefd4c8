// Serves a driver on its socket, with logs and metrics, until it is stopped.

import { type CsiServer, type Interceptor, operationMetrics, serveCsi } from '../csi/index.ts';
import type { Metrics } from '../runtime/metrics/metrics.ts';
import type { Clock, Log } from '../runtime/ports.ts';
import type { Driver } from './driver.ts';
import { type DriverServicesOptions, driverServices } from './driver-services.ts';

export interface ServeDriverOptions extends DriverServicesOptions {
  /** `unix:///run/csi/socket`, or a path. */
  endpoint: string;
  clock: Clock;
  log: Log;
  /** The registry for `csi_plugin_operations_seconds`. */
  metrics?: Metrics;
  /** For tests: delays, fails or records incoming calls. */
  interceptors?: readonly Interceptor[];
  socketMode?: number;
}

/** Resolves once the socket accepts calls. `stop(graceMs)` lets calls in flight finish within the grace time. */
export function serveDriver(driver: Driver, options: ServeDriverOptions): Promise<CsiServer> {
  const { endpoint, clock, log, metrics, interceptors, socketMode } = options;
  return serveCsi({
    address: endpoint,
    services: driverServices(driver, options),
    clock,
    log,
    ...(metrics && { metrics: operationMetrics({ metrics, prefix: 'csi_plugin', driverName: driver.name }) }),
    ...(interceptors && { interceptors }),
    ...(socketMode !== undefined && { socketMode }),
  });
}
