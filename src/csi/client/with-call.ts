// A connection to a driver whose calls go another way, and which is the same in everything else. Its owner closes it.

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
