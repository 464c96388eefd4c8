// A gRPC server on a unix socket that forwards every call to a driver on another. The driver may be absent, come, go and
// come back: a call that does not reach it is answered UNAVAILABLE.

import { connect } from 'node:net';
import { shortSocketPath, socketPath } from '../csi/names/socket-path.ts';
import { drainWithin } from '../csi/server/drain-within.ts';
import { placeSocket } from '../csi/server/listening-socket.ts';
import type { CsiServer } from '../csi/server/serve-csi.ts';
import type { Clock, Log } from '../runtime/ports.ts';
import { Channel } from '../wire/grpc/channel.ts';
import { defaultMaxMessageBytes } from '../wire/grpc/message-limit.ts';
import { http2Server } from '../wire/http2/http2-server.ts';
import { FieldPool } from './field-pool.ts';
import { ForwardedCall } from './forwarded-call.ts';
import type { ProxyInterceptor } from './proxy-interceptor.ts';

export interface ServeProxyOptions {
  /** Where callers find the proxy: `unix:///path`, `unix:path` or `/path`. Missing directories are made. */
  listen: string;
  /** The driver's socket, in the same forms. It need not exist yet. */
  driver: string;
  /** Outermost first; asked for at each call. Without any, bytes pass through undecoded and nothing is held. */
  interceptors?: readonly ProxyInterceptor[] | (() => readonly ProxyInterceptor[]);
  clock: Clock;
  log: Log;
  /** Of the socket to listen on; default: its user and group, as for a driver. */
  socketMode?: number;
}

/** Resolves once the socket accepts calls. */
export async function serveProxy(options: ServeProxyOptions): Promise<CsiServer> {
  const { clock, log, interceptors = [], socketMode = 0o660 } = options;
  const path = socketPath(options.listen);
  const driver = socketPath(options.driver);
  if (path === driver) throw new Error(`the proxy cannot listen on the driver's own socket ${driver}`);
  const reach = shortSocketPath(driver);
  const channel = new Channel({ connect: () => connect({ path: reach.path }), clock });
  const pool = new FieldPool();
  const calls = new Set<ForwardedCall>();
  let connections = 0;
  const server = http2Server({
    clock,
    onTooMany: (count) =>
      log.warn('connections were closed at once, because too many are open', { address: path, count }),
    connected(connection) {
      const connectionNumber = ++connections;
      return (stream) => {
        const call: ForwardedCall = new ForwardedCall({
          connection,
          stream,
          connectionNumber,
          channel,
          interceptors: typeof interceptors === 'function' ? interceptors() : interceptors,
          maxHeldBytes: defaultMaxMessageBytes,
          address: driver,
          pool,
          clock,
          log,
          onOver: () => calls.delete(call),
        });
        calls.add(call);
        return call;
      };
    },
  });
  const close = (): void => {
    channel.close();
    reach.release();
  };
  const removeSocket = await placeSocket({
    path,
    mode: socketMode,
    bind: async (at) => {
      await server.listen(at);
    },
  }).catch((error: unknown) => {
    server.cut();
    close();
    throw error;
  });
  log.v(2).info('forwarding CSI calls', { address: path, driver });

  const stop = async (graceMs: number): Promise<void> => {
    removeSocket();
    const draining = {
      drain: server.drain,
      cut: server.cut,
      get underWay() {
        return calls.size;
      },
    };
    await drainWithin(graceMs, { server: draining, address: path, log, clock });
    close();
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
