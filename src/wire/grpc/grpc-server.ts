// Listens on a unix socket and takes calls, until it is told to stop. Knows methods by their path and messages as bytes.

import { createServer } from 'node:net';
import type { Clock } from '../clock.ts';
import { Http2Connection, MAX_STREAMS } from '../http2/http2-connection.ts';
import { ErrorCode } from '../http2/http2-error.ts';
import { ServerCall } from './server-call.ts';

/** Of requests that are not complete, all connections together. Requests of CSI have a few kilobytes. */
const MAX_HELD_BYTES = 256 << 20;

export interface GrpcServerOptions {
  clock: Clock;
  maxMessageBytes: number;
  /** Must answer the call in the end, unless its signal aborts. Must not throw. */
  handle(path: string, request: Buffer, call: ServerCall): Promise<void>;
}

export interface GrpcServer {
  listen(path: string): Promise<void>;
  /** Calls that are being handled, also those that nobody waits for any more. */
  readonly underWay: number;
  /** Takes no more calls; resolves when those that clients wait for have been answered. */
  drain(): Promise<void>;
  /** Cuts off what is left. */
  cut(reason: Error): void;
}

export function grpcServer(options: GrpcServerOptions): GrpcServer {
  const { clock, maxMessageBytes, handle } = options;
  const connections = new Set<Http2Connection>();
  const handled = new Set<ServerCall>();
  let heldBytes = 0;
  let onIdle: (() => void) | undefined;

  const listener = createServer((socket) => {
    let running = 0;
    const connection: Http2Connection = new Http2Connection({
      socket,
      clock,
      accept: (stream) => {
        const call = new ServerCall({
          connection,
          stream,
          clock,
          peer: 'unix',
          maxMessageBytes,
          hold(bytes) {
            heldBytes += bytes;
            return heldBytes <= MAX_HELD_BYTES;
          },
          onRequest(path, request) {
            // Also of calls that were given up, whose handlers may go on all the same.
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
  });

  return {
    get underWay() {
      return handled.size;
    },
    listen: (path) =>
      new Promise((resolve, reject) => {
        listener.once('error', reject);
        listener.listen(path, () => {
          listener.off('error', reject);
          resolve();
        });
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
