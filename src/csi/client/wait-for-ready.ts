// Waits until a driver answers, and logs from time to time that it is waiting.

import type { Clock, Log } from '../../runtime/ports.ts';
import type { Channel, ConnectionState } from '../../wire/grpc/channel.ts';
import { CsiError } from '../csi-error.ts';

/** The interval at which the official components say that they are still connecting. */
const stillWaitingMs = 10_000;

/** Rejects when `signal` aborts or the channel is closed. */
export function waitForReady(
  options: {
    channel: Pick<Channel, 'state' | 'onStateChange' | 'connect'>;
    address: string;
    log: Log;
    clock: Clock;
  },
  signal?: AbortSignal,
): Promise<void> {
  const { channel, address, log, clock } = options;
  return new Promise((resolve, reject) => {
    const startMs = clock.monotonicMs();
    const stop = (): void => {
      unsubscribe();
      reminder.cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    const onAbort = (): void => {
      stop();
      reject(signal?.reason);
    };
    const look = (state: ConnectionState): void => {
      if (state === 'ready') {
        stop();
        resolve();
      } else if (state === 'closed') {
        stop();
        reject(new CsiError({ code: 'CANCELLED', message: `the connection to ${address} was closed` }));
      } else channel.connect();
    };
    const remind = (): void => {
      const waitedS = Math.round((clock.monotonicMs() - startMs) / 1000);
      log.warn('still waiting for the driver; check that it runs and listens there', { address, waitedS });
      reminder = clock.setTimeout(remind, stillWaitingMs);
    };
    let reminder = clock.setTimeout(remind, stillWaitingMs);
    const unsubscribe = channel.onStateChange(look);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    else look(channel.state);
  });
}
