// Whether a driver is alive, by its own Probe: asked anew for every question, over one connection that comes back by
// itself. Knows nothing of who asks.

import type { CsiConnection } from '../../csi/client/connect-csi.ts';
import { getDriverName, probe } from '../../csi/client/probe.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import type { HealthCheck } from '../../runtime/process/http-endpoint.ts';
import { withDeadline } from '../../runtime/time/deadline.ts';

export interface DriverHealthOptions {
  connection: CsiConnection;
  /** `--probe-timeout`: of connecting and answering together. */
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
          reason: () => new Error(`nobody listens at ${connection.address}; check that the driver runs`),
        },
        (signal) => connection.waitForReady(signal),
      );
      const leftMs = Math.max(1, timeoutMs - (clock.monotonicMs() - startMs));
      if (!(await probe(connection, { timeoutMs: leftMs }))) {
        throw new Error('the driver answers but says it is not ready');
      }
    } catch (error) {
      log.warn('The driver is not healthy', { err: error });
      throw error;
    }
    log.v(5).info('The driver is healthy');
  };
}

/** Tells the driver's name once it is there; a driver that cannot say it is no matter of life and death. */
export async function learnDriverName(
  { connection, timeoutMs, log }: DriverHealthOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await connection.waitForReady(signal);
    return await getDriverName(connection, { timeoutMs, signal });
  } catch (error) {
    if (!signal.aborted) log.warn('The driver does not say its name; metrics go without it', { err: error });
    return undefined;
  }
}
