// Listens and owns connections until it is stopped. What happens on their streams is the caller's.

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { limitConnections } from '../limit-connections.ts';
import { Http2Connection } from './http2-connection.ts';
import type { Http2Stream, StreamEvents } from './http2-stream.ts';

export interface Http2ServerOptions {
  clock: Clock;
  /** Makes the server that hands over connections; default: a plain one, for unix sockets. See tls-listener.ts. */
  listener?: ((take: (socket: Socket) => void) => Server) | undefined;
  /** Default: 256. A CSI socket has about ten clients. */
  maxConnections?: number | undefined;
  /** `count` connections were closed since the last call, because there were too many. */
  onTooMany?(count: number): void;
  /** Called for each new connection; returns what takes its streams. */
  connected(connection: Http2Connection, socket: Socket): (stream: Http2Stream) => StreamEvents;
}

export interface Http2Server {
  /** At a unix socket's path, or at a TCP port. Resolves with the port; 0 for a path. */
  listen(address: string | { host?: string; port: number }): Promise<number>;
  /** Takes no more streams; resolves when those that are open have ended. */
  drain(): Promise<void>;
  /** Closes every connection at once. */
  cut(): void;
}

export function http2Server(options: Http2ServerOptions): Http2Server {
  const { clock, maxConnections = 256, connected } = options;
  const connections = new Set<Http2Connection>();
  let onIdle: (() => void) | undefined;

  const take = (socket: Socket): void => {
    let takeStream: ((stream: Http2Stream) => StreamEvents) | undefined;
    const connection: Http2Connection = new Http2Connection({
      socket,
      clock,
      accept: (stream) => {
        takeStream ??= connected(connection, socket);
        return takeStream(stream);
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
    cut() {
      listener.close();
      for (const connection of connections) connection.destroy();
    },
  };
}
