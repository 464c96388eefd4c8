// Calls over one gRPC channel that reconnects by itself. Every call has a deadline and ends, whatever the server does. Every
// failure is a CsiError that names the server's address.

import type { Clock, Log } from '../../runtime/ports.ts';
import type { CallStatus } from '../../wire/grpc/call-headers.ts';
import type { Channel, ConnectionState } from '../../wire/grpc/channel.ts';
import { type CallOrigin, ClientCall } from '../../wire/grpc/client-call.ts';
import { grpcCodes } from '../../wire/grpc/grpc-code.ts';
import { MESSAGE_HEADROOM, prefixMessage } from '../../wire/grpc/message-framing.ts';
import { defaultMaxMessageBytes } from '../../wire/grpc/message-limit.ts';
import { methodPath } from '../../wire/grpc/method-path.ts';
import type { HeaderField } from '../../wire/http2/header-table.ts';
import { create } from '../../wire/protobuf/create.ts';
import { fromBinary } from '../../wire/protobuf/decode.ts';
import type { DescMethod, Message } from '../../wire/protobuf/descriptor.ts';
import { toBinary } from '../../wire/protobuf/encode.ts';
import { CsiError } from '../csi-error.ts';
import { withoutSecrets } from '../secrets/secret-values.ts';
import { type CallRecorder, recordCall } from './call-record.ts';
import type { OperationMetrics } from './operation-metrics.ts';
import type { CsiCallOptions, CsiStreamTransport } from './transport.ts';
import { waitForReady } from './wait-for-ready.ts';

export interface ConnectionOptions {
  log: Log;
  clock: Clock;
  metrics?: OperationMetrics;
  maxMessageBytes?: number;
  /** Official `--max-grpc-log-length`; not positive: no limit. */
  maxLogLength?: number;
}

export interface CsiConnection extends CsiStreamTransport {
  /** The socket's path, or host and port. */
  readonly address: string;
  readonly state: ConnectionState;
  /** Calls `listener` with each new state until the returned function is called. */
  onStateChange(listener: (state: ConnectionState) => void): () => void;
  /** Resolves once connected; rejects when `signal` aborts or the connection is closed. Says every 10 s that it waits. */
  waitForReady(signal?: AbortSignal): Promise<void>;
  /** Calls under way fail with CANCELLED or UNAVAILABLE. Idempotent. */
  close(): void;
}

interface Reached {
  channel: Channel;
  /** In messages. */
  address: string;
  origin?: CallOrigin;
  onClose?: () => void;
}

/** Nothing is sent yet: the first call, or `waitForReady`, connects. */
export function grpcConnection(
  { channel, address, origin, onClose }: Reached,
  options: ConnectionOptions,
): CsiConnection {
  const { log, clock } = options;
  const maxMessageBytes = options.maxMessageBytes ?? defaultMaxMessageBytes;
  const recorder: CallRecorder = {
    log,
    clock,
    metrics: options.metrics,
    maxLogLength: options.maxLogLength ?? -1,
  };
  const paths = new Map<DescMethod, HeaderField>();
  const pathOf = (method: DescMethod): HeaderField => {
    const known = paths.get(method);
    if (known) return known;
    const path = { name: ':path', value: methodPath(method) };
    paths.set(method, path);
    return path;
  };

  /** Sends the request. `receive.end` is called once, with the error if the call failed. */
  const begin = (
    method: DescMethod,
    init: object,
    { timeoutMs, signal }: CsiCallOptions,
    receive: { message(message: Message, bytes: number): void; end(error: CsiError | undefined): void },
  ): ClientCall | undefined => {
    const request: Message = create(method.input, init as Message);
    const path = pathOf(method);
    const record = recordCall(recorder, method, path.value, request);
    let last: Message | undefined;
    const fail = (failure: CallStatus): void => {
      const error = new CsiError({
        code: failure.code,
        message: withoutSecrets(failure.text, method.input, request),
        method: method.name,
        address,
        timeoutMs,
        uncertain: failure.isOurs && !saysNothing.has(failure.code),
        ...(failure.details && { details: failure.details }),
        ...(failure.cause !== undefined && { cause: failure.cause }),
      });
      record.failed(error);
      receive.end(error);
    };
    if (!(timeoutMs > 0 && timeoutMs < Number.POSITIVE_INFINITY)) {
      fail({ code: grpcCodes.INTERNAL, text: `a call needs a deadline, not ${timeoutMs} ms`, isOurs: true });
      return undefined;
    }
    const givenUp = (text: string): CallStatus => ({
      code: grpcCodes.CANCELLED,
      text,
      isOurs: true,
      ...(signal?.aborted && { cause: signal.reason }),
    });
    if (signal?.aborted || channel.state === 'closed') {
      fail(givenUp(signal?.aborted ? 'given up before it was sent' : 'the connection was closed'));
      return undefined;
    }
    const framed = toBinary(method.input, request, MESSAGE_HEADROOM);
    prefixMessage(framed);
    const onAbort = (): void => call.cancel(givenUp('given up'));
    const call = new ClientCall({
      clock,
      path,
      framed,
      origin,
      timeoutMs,
      maxMessageBytes,
      onMessage(bytes) {
        try {
          last = fromBinary(method.output, bytes);
        } catch (error) {
          call.cancel({ ...unreadable, cause: error });
          return;
        }
        receive.message(last, bytes.length);
      },
      onEnd(status) {
        signal?.removeEventListener('abort', onAbort);
        if (status.code !== grpcCodes.OK) fail(status);
        else if (method.methodKind === 'unary' && last === undefined) fail(unreadable);
        else {
          record.succeeded(method.methodKind === 'unary' ? last : undefined);
          receive.end(undefined);
        }
      },
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    channel.start(call);
    return call;
  };

  return {
    address,
    get state() {
      return channel.state;
    },
    onStateChange: (listener) => channel.onStateChange(listener),
    waitForReady: (signal) => waitForReady({ channel, address, log, clock }, signal),

    call: (method, init, callOptions) =>
      new Promise((resolve, reject) => {
        let answer: Message | undefined;
        begin(method, init, callOptions, {
          message(message) {
            answer = message;
          },
          end: (error) => (error ? reject(error) : resolve(answer as never)),
        });
      }),

    async *stream(method, init, callOptions) {
      const waiting: { message: Message; bytes: number }[] = [];
      let end: { error: CsiError | undefined } | undefined;
      let wake = (): void => {};
      const call = begin(method, init, callOptions, {
        message(message, bytes) {
          waiting.push({ message, bytes });
          wake();
        },
        end(error) {
          end = { error };
          wake();
        },
      });
      try {
        for (;;) {
          const next = waiting.shift();
          if (next !== undefined) {
            call?.release(next.bytes);
            yield next.message as never;
          } else if (end === undefined) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          } else if (end.error) throw end.error;
          else return;
        }
      } finally {
        call?.cancel({ code: grpcCodes.CANCELLED, text: 'the reader left', isOurs: true });
      }
    },

    close() {
      if (channel.state === 'closed') return;
      channel.close();
      onClose?.();
    },
  };
}

/** Codes that already mean that it is unknown what the driver has done. */
const saysNothing: ReadonlySet<number> = new Set([
  grpcCodes.CANCELLED,
  grpcCodes.DEADLINE_EXCEEDED,
  grpcCodes.UNAVAILABLE,
]);

/** The answer is not the expected message. That says nothing of what the driver has done. */
const unreadable: CallStatus = {
  code: grpcCodes.INTERNAL,
  text: 'the driver answered with something that is not the expected message; it may have done what was asked',
  isOurs: true,
};
