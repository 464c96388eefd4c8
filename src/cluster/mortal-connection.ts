// A driver's connection of a component that can die: a dead one calls nothing, and hears no answer.

import type { CsiConnection } from '../csi/client/connect-csi.ts';
import { type MortalProcess, never } from '../runtime/process/mortal-process.ts';

export function mortalConnection(connection: CsiConnection, process: MortalProcess): CsiConnection {
  return {
    address: connection.address,
    get state() {
      return connection.state;
    },
    onStateChange: connection.onStateChange,
    waitForReady: connection.waitForReady,
    close: connection.close,
    async call(method, request, options) {
      if (!process.alive) return never();
      try {
        const answer = await connection.call(method, request, options);
        return process.alive ? answer : await never();
      } catch (error) {
        if (process.alive) throw error;
        return never();
      }
    },
    async *stream(method, request, options) {
      if (!process.alive) await never();
      yield* connection.stream(method, request, options);
    },
  };
}
