// The server base for drivers and registrars: gRPC over a unix socket. Owns the socket file from start to stop. Calls
// run through call-pipeline.ts; here is only what gRPC and the socket need.

import { type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import type { Clock, Log } from '../runtime/ports.ts';
import { loggingInterceptor, metricsInterceptor } from './call-interceptors.ts';
import { type Interceptor, type ServedMethod, servedMethods } from './call-pipeline.ts';
import type { CsiError } from './csi-error.ts';
import { placeSocket } from './listening-socket.ts';
import { defaultMaxMessageBytes } from './message-limit.ts';
import type { OperationMetrics } from './operation-metrics.ts';
import type { CallContext, ServiceImplementation } from './service-implementation.ts';
import { socketPath } from './socket-path.ts';

export interface ServeCsiOptions {
  /** `unix:///path`, `unix:path` or `/path`. Missing directories are made. */
  address: string;
  services: readonly ServiceImplementation[];
  /** Outermost first; the log and the metrics are outside of all of them. */
  interceptors?: readonly Interceptor[];
  log: Log;
  clock: Clock;
  metrics?: OperationMetrics;
  /** The socket's permissions. Whoever can open it can use the driver: by default its user and group. */
  socketMode?: number;
  maxMessageBytes?: number;
  maxLogLength?: number;
}

export interface CsiServer {
  /** The socket's path. */
  readonly address: string;
  /** Accepts no more calls, lets those under way end, and after `graceMs` cuts off what is left. Idempotent. */
  stop(graceMs: number): Promise<void>;
}

export async function serveCsi(options: ServeCsiOptions): Promise<CsiServer> {
  const { log, clock, metrics } = options;
  const path = socketPath(options.address);
  const maxMessageBytes = options.maxMessageBytes ?? defaultMaxMessageBytes;
  const server = new grpc.Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    // Stays on: without it grpc-js loses track of its sessions, and a forced stop leaves them open.
    'grpc.enable_channelz': 1,
  });
  const interceptors = [
    ...(metrics ? [metricsInterceptor(metrics, clock)] : []),
    loggingInterceptor(log, options.maxLogLength),
    ...(options.interceptors ?? []),
  ];
  const underWay = new Set<AbortController>();
  for (const served of servedMethods({ services: options.services, interceptors, log }).values()) {
    register(server, served, underWay);
  }

  let removeSocket: () => void;
  try {
    removeSocket = await placeSocket({
      path,
      mode: options.socketMode ?? 0o660,
      bind: (reach) => bind(server, reach),
    });
  } catch (error) {
    server.forceShutdown();
    throw error;
  }
  log.v(2).info('listening for CSI calls', { address: path });

  let stopped: Promise<void> | undefined;
  const stop = (graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      const finish = (): void => {
        force.cancel();
        resolve();
      };
      const force = clock.setTimeout(() => {
        log.warn('calls still under way after the grace period are cut off', {
          address: path,
          calls: underWay.size,
        });
        for (const call of underWay) call.abort(new Error('the server stopped'));
        server.forceShutdown();
        // A handler that ignores its signal must not keep the server from having stopped.
        finish();
      }, graceMs);
      // Before anything else: who looks for the driver now must not find a socket that refuses.
      removeSocket();
      server.tryShutdown(finish);
    });
  return {
    address: path,
    stop: (graceMs) => {
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}

function bind(server: grpc.Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${path}`, grpc.ServerCredentials.createInsecure(), (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

function register(server: grpc.Server, served: ServedMethod, underWay: Set<AbortController>): void {
  const { method, path, run } = served;
  const serialize = serializer(method.output);
  const deserialize = (bytes: Buffer): Message => fromBinary(method.input, bytes);

  const during = async <T>(
    call: grpc.ServerUnaryCall<Message, Message> | grpc.ServerWritableStream<Message, Message>,
    body: (context: CallContext) => Promise<T>,
  ): Promise<T> => {
    const controller = new AbortController();
    call.once('cancelled', () => controller.abort(new Error('the caller gave up')));
    underWay.add(controller);
    try {
      const deadline = Number(call.getDeadline());
      return await body({
        signal: controller.signal,
        deadline: Number.isFinite(deadline) ? deadline : undefined,
        peer: call.getPeer(),
      });
    } finally {
      underWay.delete(controller);
    }
  };

  if (method.methodKind === 'unary') {
    const handler: grpc.handleUnaryCall<Message, Message> = (call, callback) => {
      during(call, (context) => run(call.request, context, async () => {})).then(
        (response) => callback(null, response as Message),
        (error: CsiError) => callback(statusOf(error)),
      );
    };
    server.register(path, handler, serialize, deserialize, 'unary');
    return;
  }
  const handler: grpc.handleServerStreamingCall<Message, Message> = (call) => {
    // Waits for the write itself, so that a source that never pauses still leaves the process time to notice that
    // nobody reads any more.
    const send = (message: Message): Promise<void> =>
      new Promise((resolve) => {
        if (call.cancelled) return resolve();
        const proceed = (): void => {
          call.off('cancelled', proceed);
          resolve();
        };
        call.once('cancelled', proceed);
        call.write(message, proceed);
      });
    during(call, (context) => run(call.request, context, send)).then(
      () => call.end(),
      (error: CsiError) => call.emit('error', statusOf(error)),
    );
  };
  server.register(path, handler, serialize, deserialize, 'serverStream');
}

function serializer(schema: DescMessage): (message: Message) => Buffer {
  return (message) => {
    const bytes = toBinary(schema, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

/** The text travels in an HTTP/2 trailer, whose size peers limit; more than this is of no use to anybody. */
const maxDescriptionLength = 4096;

function statusOf(error: CsiError): grpc.ServerErrorResponse {
  const metadata = new grpc.Metadata();
  if (error.details) metadata.set('grpc-status-details-bin', Buffer.from(error.details));
  const description =
    error.description.length > maxDescriptionLength
      ? `${error.description.slice(0, maxDescriptionLength)} […]`
      : error.description;
  return { name: error.name, message: description, code: error.rawCode, details: description, metadata };
}
