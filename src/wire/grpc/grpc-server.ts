// Listens and takes calls until it is stopped. Knows methods by their path, and messages as bytes.

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { Http2Connection, MAX_STREAMS } from '../http2/http2-connection.ts';
import { ErrorCode } from '../http2/http2-error.ts';
import { limitConnections } from '../limit-connections.ts';
import { ServerCall } from './server-call.ts';

export interface GrpcServerOptions {
  clock: Clock;
  maxMessageBytes: number;
  /** Makes the server that hands over connections; default: a plain one, for unix sockets. See tls-listener.ts. */
  listener?: (take: (socket: Socket) => void) => Server;
  /** Of requests that are not complete, all connections together; 256 MiB unless told. */
  maxHeldBytes?: number;
  /** Default: 256. A CSI socket has about ten clients. */
  maxConnections?: number;
  /** `count` connections were closed since the last call, because there were too many. */
  onTooMany?(count: number): void;
  /** Must answer the call in the end, unless its signal aborts. Must not throw. */
  handle(path: string, request: Buffer, call: ServerCall): Promise<void>;
}

export interface GrpcServer {
  /** At a unix socket's path, or at a TCP port. Resolves with the port; 0 for a path. */
  listen(address: string | { host?: string; port: number }): Promise<number>;
  /** Calls that are being handled, including those that nobody waits for any more. */
  readonly underWay: number;
  /** Takes no more calls; resolves when those that clients wait for have been answered. */
  drain(): Promise<void>;
  /** Cuts off what is left. */
  cut(reason: Error): void;
}

export function grpcServer(options: GrpcServerOptions): GrpcServer {
  const { clock, maxMessageBytes, maxHeldBytes = 256 << 20, maxConnections = 256, handle } = options;
  const connections = new Set<Http2Connection>();
  const handled = new Set<ServerCall>();
  let heldBytes = 0;
  let onIdle: (() => void) | undefined;

  const take = (socket: Socket): void => {
    const peer = socket.remoteAddress ?? 'unix';
    let running = 0;
    const connection: Http2Connection = new Http2Connection({
      socket,
      clock,
      accept: (stream) => {
        const call = new ServerCall({
          connection,
          stream,
          clock,
          peer,
          maxMessageBytes,
          hold(bytes) {
            heldBytes += bytes;
            return heldBytes <= maxHeldBytes;
          },
          onRequest(path, request) {
            // Counts calls that were given up as well: their handlers may still run.
            if (running >= MAX_STREAMS) return connection.reset(stream, ErrorCode.REFUSED_STREAM);
            running++;
            handled.add(call);
            void handle(path, request, call).finally(() => {
              running--;
              handled.delete(call);
            });
          },
        });
        return call;
      },
      onLeaving() {},
      onClosed() {
        connections.delete(connection);
        if (connections.size === 0) onIdle?.();
      },
    });
    connections.add(connection);
  };
  const listener = (options.listener ?? createServer)(take);
  limitConnections(listener, {
    max: maxConnections,
    clock,
    report: (count) => options.onTooMany?.(count),
  });

  return {
    get underWay() {
      return handled.size;
    },
    listen: (address) =>
      new Promise((resolve, reject) => {
        const listening = (): void => {
          listener.off('error', reject);
          resolve(typeof address === 'string' ? 0 : (listener.address() as AddressInfo).port);
        };
        listener.once('error', reject);
        if (typeof address === 'string') listener.listen(address, listening);
        else listener.listen(address, listening);
      }),
    drain: () =>
      new Promise((resolve) => {
        onIdle = resolve;
        listener.close();
        for (const connection of connections) connection.leave();
        if (connections.size === 0) resolve();
      }),
    cut(reason) {
      listener.close();
      for (const call of handled) call.abort(reason);
      for (const connection of connections) connection.destroy();
    },
  };
}
