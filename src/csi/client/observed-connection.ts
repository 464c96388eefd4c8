// A connection to a driver whose calls are observed, for counting and tracing. The owner of the first one closes it.

import type { DescMethod, Message } from '../../wire/protobuf/descriptor.ts';
import { CsiError } from '../csi-error.ts';
import type { CsiConnection } from './connect-csi.ts';

/** Called when a call begins; returns what is called once when it ends, with the error if it failed, and its response if it has one. */
export type CallObserver = (
  method: DescMethod,
  request: object,
) => (error: unknown, response?: Message) => void;

export function observedConnection(connection: CsiConnection, begin: CallObserver): CsiConnection {
  return {
    address: connection.address,
    get state() {
      return connection.state;
    },
    onStateChange: connection.onStateChange,
    waitForReady: connection.waitForReady,
    close: connection.close,
    async call(method, request, options) {
      const end = begin(method, request);
      try {
        const response = await connection.call(method, request, options);
        end(undefined, response as Message);
        return response;
      } catch (error) {
        end(error);
        throw error;
      }
    },
    async *stream(method, request, options) {
      const end = begin(method, request);
      let failure: unknown = new CsiError({ code: 'CANCELLED', message: 'the reader left' });
      try {
        yield* connection.stream(method, request, options);
        failure = undefined;
      } catch (error) {
        failure = error;
        throw error;
      } finally {
        end(failure);
      }
    },
  };
}
