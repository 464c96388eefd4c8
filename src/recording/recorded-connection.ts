// A connection to a driver whose calls are recorded, for components in this process.

import type { CsiConnection } from '../csi/client/connect-csi.ts';
import { observedConnection } from '../csi/client/observed-connection.ts';
import { methodPath } from '../wire/grpc/method-path.ts';
import { create } from '../wire/protobuf/create.ts';
import type { Message } from '../wire/protobuf/descriptor.ts';
import type { Recorder } from './recorder.ts';
import { endOf } from './recording-interceptor.ts';

/** `by` is recorded as the caller. */
export function recordedConnection(connection: CsiConnection, recorder: Recorder, by: string): CsiConnection {
  return observedConnection(connection, (method, request) => {
    const end = recorder.begin({
      path: methodPath(method),
      method,
      request: create(method.input, request as Message),
      requestBytes: 0,
      caller: { agent: by },
      target: connection.address,
    });
    return (error, response) =>
      end(error === undefined ? { code: 0, text: '', isLost: false, response } : endOf(error));
  });
}
