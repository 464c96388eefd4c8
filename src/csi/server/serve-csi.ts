// The server base for drivers and registrars: gRPC over a unix socket. Owns the socket file from start to stop; calls run
// in serve-call.ts.

import { grpcServer } from '../../wire/grpc/grpc-server.ts';
import { defaultMaxMessageBytes } from '../../wire/grpc/message-limit.ts';
import { socketPath } from '../names/socket-path.ts';
import { type CallHandlerOptions, callHandler } from './call-handler.ts';
import { drainWithin } from './drain-within.ts';
import { placeSocket } from './listening-socket.ts';

export interface ServeCsiOptions extends CallHandlerOptions {
  /** `unix:///path`, `unix:path` or `/path`. Missing directories are made. */
  address: string;
  /** The socket's permissions. Whoever can open it can use the driver: by default its user and group. */
  socketMode?: number;
  maxMessageBytes?: number;
}

export interface CsiServer {
  /** The socket's path. */
  readonly address: string;
  /** Accepts no more calls, lets those under way end, and after `graceMs` cuts off what is left. Idempotent. */
  stop(graceMs: number): Promise<void>;
}

export async function serveCsi(options: ServeCsiOptions): Promise<CsiServer> {
  const { log, clock } = options;
  const path = socketPath(options.address);
  const server = grpcServer({
    clock,
    maxMessageBytes: options.maxMessageBytes ?? defaultMaxMessageBytes,
    handle: callHandler(options),
    onTooMany: (count) =>
      log.warn('connections were closed at once, because too many are open', { address: path, count }),
  });
  const removeSocket = await placeSocket({
    path,
    mode: options.socketMode ?? 0o660,
    bind: async (reach) => {
      await server.listen(reach);
    },
  }).catch((error: unknown) => {
    server.cut(new Error('the server did not start'));
    throw error;
  });
  log.v(2).info('listening for CSI calls', { address: path });

  const stop = async (graceMs: number): Promise<void> => {
    // First of all: a client that looks for the driver now must not find a socket that refuses.
    removeSocket();
    await drainWithin(graceMs, { server, address: path, log, clock });
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
