// The client's end of a driver's socket: one gRPC channel that reconnects by itself, and calls over it. Every call has
// a deadline and ends, whatever the driver does; every failure is a CsiError that names the socket.

import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import type { Clock, Log } from '../runtime/ports.ts';
import { type CallRecorder, recordCall } from './call-record.ts';
import { type ConnectionState, connectionMonitor } from './connection-monitor.ts';
import { CsiError } from './csi-error.ts';
import { defaultMaxMessageBytes } from './message-limit.ts';
import { methodPath } from './method-path.ts';
import type { OperationMetrics } from './operation-metrics.ts';
import { withoutSecrets } from './secret-values.ts';
import { shortSocketPath, socketPath } from './socket-path.ts';
import type { CsiCallOptions, CsiStreamTransport } from './transport.ts';

export interface ConnectCsiOptions {
  /** `unix:///path`, `unix:path` or `/path`. */
  address: string;
  log: Log;
  clock: Clock;
  metrics?: OperationMetrics;
  maxMessageBytes?: number;
  /** Official `--max-grpc-log-length`; not positive: no limit. */
  maxLogLength?: number;
}

export interface CsiConnection extends CsiStreamTransport {
  /** The socket's path. */
  readonly address: string;
  readonly state: ConnectionState;
  /** Calls `listener` with each new state until the returned function is called. */
  onStateChange(listener: (state: ConnectionState) => void): () => void;
  /** Resolves once connected; rejects when `signal` aborts or the connection is closed. Says every 10 s that it waits. */
  waitForReady(signal?: AbortSignal): Promise<void>;
  /** Calls under way fail with CANCELLED or UNAVAILABLE. Idempotent. */
  close(): void;
}

/** Nothing is sent yet: the first call, or `waitForReady`, connects. */
export function connectCsi(options: ConnectCsiOptions): CsiConnection {
  const { log, clock } = options;
  const address = socketPath(options.address);
  const reach = shortSocketPath(address);
  const client = new grpc.Client(`unix:${reach.path}`, grpc.credentials.createInsecure(), {
    ...channelOptions,
    'grpc.max_receive_message_length': options.maxMessageBytes ?? defaultMaxMessageBytes,
    'grpc.max_send_message_length': options.maxMessageBytes ?? defaultMaxMessageBytes,
  });
  const recorder: CallRecorder = {
    log,
    clock,
    metrics: options.metrics,
    maxLogLength: options.maxLogLength ?? -1,
  };
  const monitor = connectionMonitor({ channel: client.getChannel(), address, log, clock });
  let closed = false;

  /** Common to both kinds of call: the request as a message, its record, and failures in our terms. */
  const begin = (method: DescMethod, init: object, callOptions: CsiCallOptions) => {
    const request: Message = create(method.input, init as Message);
    const record = recordCall(recorder, method, methodPath(method), request);
    const fail = (failure: {
      code: number;
      text: string;
      cause?: unknown;
      uncertain?: boolean;
      details?: Uint8Array;
    }) => {
      const error = new CsiError({
        code: failure.code,
        message: withoutSecrets(failure.text, method.input, request),
        method: method.name,
        address,
        timeoutMs: callOptions.timeoutMs,
        uncertain: failure.uncertain ?? false,
        ...(failure.details && { details: failure.details }),
        ...(failure.cause !== undefined && { cause: failure.cause }),
      });
      record.failed(error);
      return error;
    };
    const { signal, timeoutMs } = callOptions;
    if (!(timeoutMs > 0 && timeoutMs < Number.POSITIVE_INFINITY)) {
      throw fail({ code: grpc.status.INTERNAL, text: `a call needs a deadline, not ${timeoutMs} ms` });
    }
    if (signal?.aborted) {
      throw fail({ code: grpc.status.CANCELLED, text: 'given up before it was sent', cause: signal.reason });
    }
    if (closed) throw fail({ code: grpc.status.CANCELLED, text: 'the connection was closed' });
    return { request, record, fail, deadline: clock.now() + timeoutMs };
  };

  const failureOf = (error: grpc.ServiceError, signal: AbortSignal | undefined) => {
    const details = error.metadata?.get('grpc-status-details-bin')[0];
    return {
      code: error.code,
      text: error.details,
      ...(signal?.aborted && error.code === grpc.status.CANCELLED && { cause: signal.reason }),
      ...(details instanceof Uint8Array && { details }),
    };
  };

  return {
    address,
    get state() {
      return monitor.state();
    },
    onStateChange: monitor.onStateChange,
    waitForReady: monitor.waitForReady,

    async call(method, init, callOptions) {
      const { request, record, fail, deadline } = begin(method, init, callOptions);
      const codec = codecOf(method);
      return await new Promise((resolve, reject) => {
        const { signal } = callOptions;
        const onAbort = (): void => call.cancel();
        const call = client.makeUnaryRequest<Message, Answer>(
          codec.path,
          codec.serialize,
          codec.deserialize,
          request,
          { deadline },
          (error, answer) => {
            signal?.removeEventListener('abort', onAbort);
            if (error) reject(fail(failureOf(error, signal)));
            else if (answer === undefined || answer instanceof Unreadable) {
              reject(fail(unreadable(answer)));
            } else {
              record.succeeded(answer);
              resolve(answer as never);
            }
          },
        );
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },

    async *stream(method, init, callOptions) {
      const { request, record, fail, deadline } = begin(method, init, callOptions);
      const codec = codecOf(method);
      const { signal } = callOptions;
      const call = client.makeServerStreamRequest<Message, Answer>(
        codec.path,
        codec.serialize,
        codec.deserialize,
        request,
        { deadline },
      );
      const onAbort = (): void => call.cancel();
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        for await (const answer of call as AsyncIterable<Answer>) {
          if (answer instanceof Unreadable) throw fail(unreadable(answer));
          yield answer as never;
        }
        record.succeeded();
      } catch (error) {
        throw error instanceof CsiError ? error : fail(failureOf(error as grpc.ServiceError, signal));
      } finally {
        signal?.removeEventListener('abort', onAbort);
        call.cancel();
      }
    },

    close() {
      if (closed) return;
      closed = true;
      // First, so that it does not take the closing channel for one more change.
      monitor.close();
      client.close();
      reach.release();
    },
  };
}

const channelOptions: grpc.ChannelOptions = {
  // Drivers restart often and their sockets answer at once or not at all: look again soon. The official components
  // wait at most a second, too.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // A pool shared by the process would share backoff between connections, and outlive close().
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_channelz': 0,
  // Whether to call again is for outcome.ts to say.
  'grpc.enable_retries': 0,
};

/** An answer that is not the message it should be. Not thrown in the decoder: gRPC would make it look like the driver's word. */
class Unreadable {
  readonly cause: unknown;
  constructor(cause: unknown) {
    this.cause = cause;
  }
}
type Answer = Message | Unreadable;

const unreadable = (answer: Unreadable | undefined) => ({
  code: grpc.status.INTERNAL,
  text: 'the driver answered with something that is not the expected message; it may have done what was asked',
  uncertain: true,
  ...(answer && { cause: answer.cause }),
});

interface Codec {
  path: string;
  serialize(message: Message): Buffer;
  deserialize(bytes: Buffer): Answer;
}

function codecOf(method: DescMethod): Codec {
  return {
    path: methodPath(method),
    serialize(message) {
      const bytes = toBinary(method.input as DescMessage, message);
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    deserialize(bytes) {
      try {
        return fromBinary(method.output as DescMessage, bytes);
      } catch (error) {
        return new Unreadable(error);
      }
    },
  };
}
