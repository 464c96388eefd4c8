// A connection to a driver with another `call`, for counting and tracing. The owner of the first one closes it.

import type { CsiConnection } from './connect-csi.ts';

export function withCall(connection: CsiConnection, call: CsiConnection['call']): CsiConnection {
  return {
    address: connection.address,
    get state() {
      return connection.state;
    },
    onStateChange: connection.onStateChange,
    waitForReady: connection.waitForReady,
    stream: connection.stream,
    close: connection.close,
    call,
  };
}
