// Listens and takes calls until it is stopped. Knows methods by their path, and messages as bytes.

import { MAX_STREAMS } from '../http2/http2-connection.ts';
import { ErrorCode } from '../http2/http2-error.ts';
import { type Http2Server, type Http2ServerOptions, http2Server } from '../http2/http2-server.ts';
import { ServerCall } from './server-call.ts';

export interface GrpcServerOptions extends Omit<Http2ServerOptions, 'connected'> {
  maxMessageBytes: number;
  /** Of requests that are not complete, all connections together; 256 MiB unless told. */
  maxHeldBytes?: number;
  /** Must answer the call in the end, unless its signal aborts. Must not throw. */
  handle(path: string, request: Buffer, call: ServerCall): Promise<void>;
}

export interface GrpcServer extends Pick<Http2Server, 'listen' | 'drain'> {
  /** Calls that are being handled, including those that nobody waits for any more. */
  readonly underWay: number;
  /** Cuts off what is left. */
  cut(reason: Error): void;
}

export function grpcServer(options: GrpcServerOptions): GrpcServer {
  const { clock, maxMessageBytes, maxHeldBytes = 256 << 20, handle } = options;
  const handled = new Set<ServerCall>();
  let heldBytes = 0;

  const server = http2Server({
    clock,
    listener: options.listener,
    maxConnections: options.maxConnections,
    onTooMany: (count) => options.onTooMany?.(count),
    connected(connection, socket) {
      const peer = socket.remoteAddress ?? 'unix';
      let running = 0;
      return (stream) => {
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
      };
    },
  });

  return {
    get underWay() {
      return handled.size;
    },
    listen: server.listen,
    drain: server.drain,
    cut(reason) {
      for (const call of handled) call.abort(reason);
      server.cut();
    },
  };
}
