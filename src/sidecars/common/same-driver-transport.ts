// A transport to the driver that was identified at the start, and to no other. After a reconnect another driver may
// listen at the socket: the first call then identifies it again, and the other calls wait for the result. If it is the
// same driver, calls continue; if not, the sidecar ends and is restarted.

import type { CsiConnection } from '../../csi/client/connect-csi.ts';
import type { CsiStreamTransport } from '../../csi/client/transport.ts';
import type { Log } from '../../runtime/ports.ts';
import { askDriver, type Driver, driverDifference } from './identify-driver.ts';

/** Another driver listens at the socket now. Only identity calls were sent to it. */
export class DriverChangedError extends Error {
  override readonly name = 'DriverChangedError';
}

export interface SameDriverOptions {
  connection: Pick<CsiConnection, 'call' | 'stream' | 'address' | 'onStateChange' | 'waitForReady'>;
  driver: Driver;
  log: Log;
  timeoutMs: number;
  signal: AbortSignal;
  /** Called once, when it is another driver. */
  onChanged(error: DriverChangedError): void;
}

export function sameDriverTransport(options: SameDriverOptions): CsiStreamTransport {
  const { connection, driver, log, timeoutMs, signal } = options;
  let certain = true;
  let losses = 0;
  let wasReady = true;
  let asking: Promise<void> | undefined;
  let changed: DriverChangedError | undefined;

  const ask = async (): Promise<void> => {
    const lossesBefore = losses;
    const difference = driverDifference(driver, await askDriver(connection, { timeoutMs, signal }));
    if (difference === undefined) {
      // Lost again during identification: the driver is unknown again.
      certain = losses === lossesBefore;
      // The same log level as the loss, so that both appear in the same logs.
      if (certain) log.warn('The driver is back');
      return;
    }
    changed = new DriverChangedError(
      `the driver at ${connection.address} is not the one this process serves: ${difference}; ` +
        'stopping; restart to serve the new driver',
    );
    options.onChanged(changed);
    throw changed;
  };
  const confirmed = async (): Promise<void> => {
    while (!certain) {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      await asking;
    }
  };

  /** Identifies the driver without a pending call: an idle sidecar must notice a new driver, too. */
  const lookWhenBack = (): void => {
    connection
      .waitForReady(signal)
      .then(confirmed)
      // The next call identifies the driver again.
      .catch((error: unknown) => log.v(4).info('Could not identify the driver', { err: error }));
  };
  const unsubscribe = connection.onStateChange((state) => {
    if (changed !== undefined || state === 'closed') return;
    const isLoss = wasReady && state !== 'ready';
    wasReady = state === 'ready';
    if (!isLoss) return;
    losses++;
    if (certain) log.warn('Lost the connection to the driver; waiting for it to come back');
    certain = false;
    lookWhenBack();
  });
  signal.addEventListener('abort', unsubscribe, { once: true });

  return {
    async call(method, request, callOptions) {
      if (changed !== undefined) throw changed;
      if (!certain) await confirmed();
      return connection.call(method, request, callOptions);
    },
    async *stream(method, request, callOptions) {
      if (changed !== undefined) throw changed;
      if (!certain) await confirmed();
      yield* connection.stream(method, request, callOptions);
    },
  };
}
