// Whether a driver is alive: one Probe call per health check, over one connection that reconnects automatically.
// Independent of the HTTP endpoint.

import type { CsiConnection } from '../../csi/client/connect-csi.ts';
import { getDriverName, probe } from '../../csi/client/probe.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import type { HealthCheck } from '../../runtime/process/http-endpoint.ts';
import { withDeadline } from '../../runtime/time/deadline.ts';

export interface DriverHealthOptions {
  connection: CsiConnection;
  /** `--probe-timeout`: covers connecting and the call together. */
  timeoutMs: number;
  clock: Clock;
  log: Log;
}

export function driverHealth(options: DriverHealthOptions): HealthCheck {
  const { connection, timeoutMs, clock, log } = options;
  return async () => {
    const startMs = clock.monotonicMs();
    try {
      await withDeadline(
        {
          clock,
          delayMs: timeoutMs,
          reason: () => new Error(`no process listens at ${connection.address}; check that the driver runs`),
        },
        (signal) => connection.waitForReady(signal),
      );
      const leftMs = Math.max(1, timeoutMs - (clock.monotonicMs() - startMs));
      if (!(await probe(connection, { timeoutMs: leftMs }))) {
        throw new Error('the driver answers Probe with not ready');
      }
    } catch (error) {
      log.warn('The driver is not healthy', { err: error });
      throw error;
    }
    log.v(5).info('The driver is healthy');
  };
}

/** Reads the driver's name once it is reachable; a driver that does not return it still counts as alive. */
export async function learnDriverName(
  { connection, timeoutMs, log }: DriverHealthOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await connection.waitForReady(signal);
    return await getDriverName(connection, { timeoutMs, signal });
  } catch (error) {
    if (!signal.aborted) log.warn('Could not read the driver name; metrics omit it', { err: error });
    return undefined;
  }
}
