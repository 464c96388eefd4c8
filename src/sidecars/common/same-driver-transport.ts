// Calls to the driver that was identified at the start, and to no other. Behind a socket that was lost and found again
// another driver may listen: after each loss the first call asks who is there, and the others wait for the answer. A
// driver that came back as it was is used on; another one ends the sidecar, which is then restarted for it.

import type { CsiConnection } from '../../csi/client/connect-csi.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import type { Log } from '../../runtime/ports.ts';
import { askDriver, type Driver, driverDifference } from './identify-driver.ts';

/** Behind the socket is another driver than at the start. Nothing but its identity was asked of it. */
export class DriverChangedError extends Error {
  override readonly name = 'DriverChangedError';
}

export interface SameDriverOptions {
  connection: Pick<CsiConnection, 'call' | 'address' | 'onStateChange' | 'waitForReady'>;
  driver: Driver;
  log: Log;
  timeoutMs: number;
  signal: AbortSignal;
  /** Called once, when it is another driver. */
  onChanged(error: DriverChangedError): void;
}

export function sameDriverTransport(options: SameDriverOptions): CsiTransport {
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
      // Lost again while asking: then nobody knows who is there now.
      certain = losses === lossesBefore;
      // As loud as the loss, so that whoever read of the one reads of the other.
      if (certain) log.warn('The driver is back');
      return;
    }
    changed = new DriverChangedError(
      `the driver at ${connection.address} is not the one this process serves: ${difference}; ` +
        'stopping, start again to serve it',
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

  /** Without waiting for a call to come along: a sidecar with nothing to do must notice, too. */
  const lookWhenBack = (): void => {
    connection
      .waitForReady(signal)
      .then(confirmed)
      // The next call asks again.
      .catch((error: unknown) => log.v(4).info('Could not ask the driver who it is', { err: error }));
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
  };
}
