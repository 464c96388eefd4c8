// The server base for drivers and registrars: gRPC over a unix socket. Owns the socket file from start to stop; calls run
// in serve-call.ts.

import type { Clock, Log } from '../../runtime/ports.ts';
import { grpcCodes } from '../../wire/grpc/grpc-code.ts';
import { grpcServer } from '../../wire/grpc/grpc-server.ts';
import { MESSAGE_HEADROOM } from '../../wire/grpc/message-framing.ts';
import { defaultMaxMessageBytes } from '../../wire/grpc/message-limit.ts';
import type { AnswerStatus, ServerCall } from '../../wire/grpc/server-call.ts';
import { fromBinary } from '../../wire/protobuf/decode.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';
import { toBinary } from '../../wire/protobuf/encode.ts';
import type { OperationMetrics } from '../client/operation-metrics.ts';
import { CsiError } from '../csi-error.ts';
import { socketPath } from '../names/socket-path.ts';
import { loggingInterceptor, metricsInterceptor } from './call-interceptors.ts';
import { placeSocket } from './listening-socket.ts';
import { type Interceptor, type ServedMethod, servedMethods } from './serve-call.ts';
import type { ServiceImplementation } from './service-implementation.ts';

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
  const interceptors = [
    ...(metrics ? [metricsInterceptor(metrics, clock)] : []),
    loggingInterceptor(log, options.maxLogLength),
    ...(options.interceptors ?? []),
  ];
  const methods = servedMethods({ services: options.services, interceptors, log });
  const server = grpcServer({
    clock,
    maxMessageBytes: options.maxMessageBytes ?? defaultMaxMessageBytes,
    async handle(method, request, call) {
      const served = methods.get(method);
      if (served) await serve(served, request, call, log);
      else call.answer({ code: grpcCodes.UNIMPLEMENTED, text: `unknown method ${method}` });
    },
    onTooMany: (count) =>
      log.warn('connections were closed at once, because too many are open', { address: path, count }),
  });
  const removeSocket = await placeSocket({
    path,
    mode: options.socketMode ?? 0o660,
    bind: (reach) => server.listen(reach),
  }).catch((error: unknown) => {
    server.cut(new Error('the server did not start'));
    throw error;
  });
  log.v(2).info('listening for CSI calls', { address: path });

  const stop = async (graceMs: number): Promise<void> => {
    // First of all: a client that looks for the driver now must not find a socket that refuses.
    removeSocket();
    const drained = server.drain();
    const force = clock.setTimeout(() => {
      log.warn('calls still under way after the grace period are cut off', {
        address: path,
        calls: server.underWay,
      });
      server.cut(new Error('the server stopped'));
    }, graceMs);
    await drained;
    force.cancel();
  };
  let stopped: Promise<void> | undefined;
  return {
    address: path,
    stop: (graceMs) => {
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}

async function serve(served: ServedMethod, bytes: Buffer, call: ServerCall, log: Log): Promise<void> {
  const { method, path, run } = served;
  let request: Message;
  try {
    request = fromBinary(method.input, bytes);
  } catch (error) {
    call.answer({
      code: grpcCodes.INTERNAL,
      text: `the request is no ${method.input.typeName}: ${(error as Error).message}`,
    });
    return;
  }
  try {
    const response = await run(request, call, (message) =>
      call.send(toBinary(method.output, message, MESSAGE_HEADROOM)),
    );
    if (response) call.answer({ code: grpcCodes.OK }, toBinary(method.output, response, MESSAGE_HEADROOM));
    else call.answer({ code: grpcCodes.OK });
  } catch (error) {
    if (error instanceof CsiError) call.answer(statusOf(error));
    else {
      log.error(`the answer of ${method.name} is not a message; answering INTERNAL`, error, { method: path });
      const text = `${method.name} gave an answer that cannot be sent; the driver's log tells why`;
      call.answer({ code: grpcCodes.INTERNAL, text });
    }
  }
}

// Errors travel in HTTP/2 trailers, whose size peers limit.
const maxDescriptionLength = 4096;
const maxDetailsBytes = 32_768;

function statusOf({ description, rawCode, details }: CsiError): AnswerStatus {
  const isLong = description.length > maxDescriptionLength;
  return {
    code: rawCode,
    text: isLong ? `${description.slice(0, maxDescriptionLength)} […]` : description,
    details: details && details.length <= maxDetailsBytes ? details : undefined,
  };
}
