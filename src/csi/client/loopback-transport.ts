// A driver and its caller in one process, without a socket: the same handling of calls as serve-csi.ts, the same errors as
// connect-csi.ts, time from the clock alone. Messages cross as bytes, so that the two sides never share memory.

import type { Clock, Log } from '../../runtime/ports.ts';
import { onAbort } from '../../runtime/time/on-abort.ts';
import { methodPath } from '../../wire/grpc/method-path.ts';
import { create } from '../../wire/protobuf/create.ts';
import { fromBinary } from '../../wire/protobuf/decode.ts';
import type { DescMessage, DescMethod, Message } from '../../wire/protobuf/descriptor.ts';
import { toBinary } from '../../wire/protobuf/encode.ts';
import { CsiError } from '../csi-error.ts';
import { withoutSecrets } from '../secrets/secret-values.ts';
import { type Interceptor, type Send, type ServedMethod, servedMethods } from '../server/serve-call.ts';
import type { ServiceImplementation } from '../server/service-implementation.ts';
import type { CsiCallOptions, CsiStreamTransport } from './transport.ts';

export interface LoopbackOptions {
  clock: Clock;
  log: Log;
  interceptors?: readonly Interceptor[];
  /** The address in error messages; `loopback` by default. */
  address?: string;
}

export function loopbackTransport(
  services: readonly ServiceImplementation[],
  options: LoopbackOptions,
): CsiStreamTransport {
  const { clock, log, interceptors = [], address = 'loopback' } = options;
  const methods = servedMethods({ services, interceptors, log });

  /**
   * Runs the handler until it ends, the deadline passes or the caller gives up, whichever is first. As over a socket,
   * a handler that ignores its signal goes on after the caller was told.
   */
  const run = (
    method: DescMethod,
    request: Message,
    callOptions: CsiCallOptions,
    send: Send,
  ): Promise<Message | undefined> =>
    new Promise((resolve, reject) => {
      const { signal, timeoutMs } = callOptions;
      const controller = new AbortController();
      const failed = (init: {
        code: CsiError['code'] | number;
        text: string;
        details?: Uint8Array;
        cause?: unknown;
      }): CsiError =>
        new CsiError({
          code: init.code,
          message: withoutSecrets(init.text, method.input, request),
          method: method.name,
          address,
          timeoutMs,
          ...(init.details && { details: init.details }),
          ...(init.cause !== undefined && { cause: init.cause }),
        });
      const giveUp = (error: CsiError): void => {
        stopWaiting();
        reject(error);
        controller.abort(error);
      };
      const givenUp = (): void =>
        giveUp(failed({ code: 'CANCELLED', text: 'given up', cause: signal?.reason }));
      const stopWaiting = (): void => {
        timer.cancel();
        stopListening?.();
      };
      const timer = clock.setTimeout(
        () => giveUp(failed({ code: 'DEADLINE_EXCEEDED', text: 'deadline exceeded' })),
        timeoutMs,
      );
      const stopListening = signal && !signal.aborted ? onAbort(signal, givenUp) : undefined;
      if (signal?.aborted) return givenUp();

      const served = methods.get(methodPath(method)) ?? unknownMethod(method);
      const context = { signal: controller.signal, deadline: clock.now() + timeoutMs, peer: 'loopback' };
      served.run(copy(method.input, request), context, send).then(
        (response) => {
          stopWaiting();
          resolve(response && copy(method.output, response));
        },
        (error: CsiError) => {
          stopWaiting();
          reject(
            failed({
              code: error.rawCode,
              text: error.description,
              ...(error.details && { details: error.details }),
            }),
          );
        },
      );
    });

  return {
    async call(method, init, callOptions) {
      const request = create(method.input, init);
      const response = await run(method, request, callOptions, async () => {});
      return response as never;
    },

    async *stream(method, init, callOptions) {
      const request = create(method.input, init);
      const stop = new AbortController();
      const signal = callOptions.signal ? AbortSignal.any([callOptions.signal, stop.signal]) : stop.signal;
      // The handler waits until its message was taken, as it would for a full socket.
      let wake: () => void = () => {};
      let taken: () => void = () => {};
      const waiting: Message[] = [];
      let end: { error?: unknown } | undefined;
      const send: Send = (message) =>
        new Promise((resolve) => {
          if (signal.aborted) return resolve();
          waiting.push(copy(method.output, message));
          taken = resolve;
          wake();
        });
      run(method, request, { ...callOptions, signal }, send).then(
        () => {
          end = {};
          wake();
        },
        (error: unknown) => {
          end = { error };
          wake();
          taken();
        },
      );
      try {
        for (;;) {
          const message = waiting.shift();
          if (message !== undefined) {
            yield message as never;
            taken();
          } else if (end) {
            if ('error' in end) throw end.error;
            return;
          } else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      } finally {
        stop.abort(new Error('the caller stopped reading'));
        taken();
      }
    },
  };
}

function copy(schema: DescMessage, message: Message): Message {
  return fromBinary(schema, toBinary(schema, message));
}

function unknownMethod(method: DescMethod): ServedMethod {
  return {
    method,
    path: methodPath(method),
    run: () =>
      Promise.reject(
        new CsiError({ code: 'UNIMPLEMENTED', message: `unknown method ${methodPath(method)}` }),
      ),
  };
}
