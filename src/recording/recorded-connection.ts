// A connection to a driver whose calls are recorded, for components in this process.

import type { CsiConnection } from '../csi/client/connect-csi.ts';
import { methodPath } from '../wire/grpc/method-path.ts';
import { create } from '../wire/protobuf/create.ts';
import type { DescMethod, Message } from '../wire/protobuf/descriptor.ts';
import type { Recorder } from './recorder.ts';
import { endOf } from './recording-interceptor.ts';

/** `by` is recorded as the caller. */
export function recordedConnection(connection: CsiConnection, recorder: Recorder, by: string): CsiConnection {
  const begin = (method: DescMethod, request: object) =>
    recorder.begin({
      path: methodPath(method),
      method,
      request: create(method.input, request as Message),
      requestBytes: 0,
      caller: { agent: by },
      target: connection.address,
    });
  const done = { code: 0, text: '', isLost: false };
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
        end({ ...done, response: response as Message });
        return response;
      } catch (error) {
        end(endOf(error));
        throw error;
      }
    },
    async *stream(method, request, options) {
      const end = begin(method, request);
      let failure: unknown;
      try {
        yield* connection.stream(method, request, options);
      } catch (error) {
        failure = error;
        throw error;
      } finally {
        end(failure === undefined ? done : endOf(failure));
      }
    },
  };
}
