// Watches a gRPC channel: its state in plain words, listeners, and waiting for it to be ready.

import * as grpc from '@grpc/grpc-js';
import type { Clock, Log } from '../runtime/ports.ts';
import { CsiError } from './csi-error.ts';

/** `idle`: will connect with the next call. `failing`: nobody answers; tried again soon. */
export type ConnectionState = 'idle' | 'connecting' | 'ready' | 'failing' | 'closed';

export interface ConnectionMonitor {
  state(): ConnectionState;
  onStateChange(listener: (state: ConnectionState) => void): () => void;
  waitForReady(signal?: AbortSignal): Promise<void>;
  /** To be called just before the channel is closed. */
  close(): void;
}

const names: Record<grpc.connectivityState, ConnectionState> = {
  [grpc.connectivityState.IDLE]: 'idle',
  [grpc.connectivityState.CONNECTING]: 'connecting',
  [grpc.connectivityState.READY]: 'ready',
  [grpc.connectivityState.TRANSIENT_FAILURE]: 'failing',
  [grpc.connectivityState.SHUTDOWN]: 'closed',
};

/** The interval at which the official components say that they are still connecting. */
const stillWaitingMs = 10_000;

export function connectionMonitor(options: {
  channel: grpc.ChannelInterface;
  address: string;
  log: Log;
  clock: Clock;
}): ConnectionMonitor {
  const { channel, address, log, clock } = options;
  const listeners = new Set<(state: ConnectionState) => void>();
  let closed = false;
  let watching = false;

  const state = (): ConnectionState => (closed ? 'closed' : names[channel.getConnectivityState(false)]);
  const tell = (current: ConnectionState): void => {
    for (const listener of [...listeners]) listener(current);
  };
  // gRPC tells of one change per request, so each change asks for the next, while anybody wants to know.
  const watch = (): void => {
    if (watching || closed || listeners.size === 0) return;
    watching = true;
    channel.watchConnectivityState(channel.getConnectivityState(false), Number.POSITIVE_INFINITY, () => {
      watching = false;
      if (closed) return;
      tell(state());
      watch();
    });
  };
  const onStateChange = (listener: (state: ConnectionState) => void): (() => void) => {
    listeners.add(listener);
    watch();
    return () => listeners.delete(listener);
  };

  return {
    state,
    onStateChange,
    waitForReady: (signal) =>
      new Promise((resolve, reject) => {
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
        const look = (current: ConnectionState): void => {
          if (current === 'ready') {
            stop();
            resolve();
          } else if (current === 'closed') {
            stop();
            reject(new CsiError({ code: 'CANCELLED', message: `the connection to ${address} was closed` }));
          } else channel.getConnectivityState(true);
        };
        const remind = (): void => {
          const waitedS = Math.round((clock.monotonicMs() - startMs) / 1000);
          log.warn('still waiting for the driver; check that it runs and listens there', {
            address,
            waitedS,
          });
          reminder = clock.setTimeout(remind, stillWaitingMs);
        };
        let reminder = clock.setTimeout(remind, stillWaitingMs);
        const unsubscribe = onStateChange(look);
        signal?.addEventListener('abort', onAbort, { once: true });
        if (signal?.aborted) onAbort();
        else look(state());
      }),
    close() {
      if (closed) return;
      closed = true;
      tell('closed');
      listeners.clear();
    },
  };
}
