// The connections to one server: as many as requests in flight, up to a limit, and kept for later requests. The first in
// line gets the connection that is free first, new or kept. Repeats a GET that was sent over a connection which the server
// was closing, because that is harmless; nothing else.

import type { Clock } from '../clock.ts';
import { Connection, type ConnectionEnd, type ConnectionTimeouts, type Exchange } from './connection.ts';
import { HttpError } from './http-error.ts';
import type { SocketTarget, TlsSession } from './open-socket.ts';

export interface PoolOptions {
  readonly clock: Clock;
  readonly target: SocketTarget;
  readonly session: TlsSession;
  readonly readBuffer: Buffer;
  readonly timeouts: ConnectionTimeouts;
  readonly maxConnections: number;
}

export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #open = new Set<Connection>();
  /** The last one was used last, and is the least likely to be closed by the server. */
  readonly #idle: Connection[] = [];
  readonly #waiting: Exchange[] = [];
  #connecting = 0;
  #retired = false;
  #destroyed = false;
  readonly #whenClosed: (() => void)[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  send(exchange: Exchange): void {
    const connection = this.#idle.pop();
    if (connection !== undefined) connection.send(exchange);
    else if (this.#destroyed) exchange.onFailure(closed());
    else {
      this.#waiting.push(exchange);
      this.#connect();
    }
  }

  /** Aborts an exchange; does nothing if it has ended. */
  cancel(exchange: Exchange, reason: Error): void {
    const index = this.#waiting.indexOf(exchange);
    if (index >= 0) {
      this.#waiting.splice(index, 1);
      exchange.onFailure(reason);
    }
    for (const connection of this.#open) if (connection.exchange === exchange) connection.destroy(reason);
  }

  /** Keeps no idle connections; resolves when exchanges in flight have ended and all connections are closed. */
  async retire(): Promise<void> {
    this.#retired = true;
    for (const connection of [...this.#idle]) connection.destroy(closed());
    await this.#allClosed();
  }

  /** Aborts everything; resolves when all connections are closed. */
  async destroy(): Promise<void> {
    this.#retired = true;
    this.#destroyed = true;
    const error = closed();
    for (const exchange of this.#waiting.splice(0)) exchange.onFailure(error);
    for (const connection of this.#open) connection.destroy(error);
    await this.#allClosed();
  }

  #connect(): void {
    const { maxConnections, ...rest } = this.#options;
    while (this.#connecting < this.#waiting.length && this.#open.size < maxConnections) {
      try {
        const connection = new Connection({
          ...rest,
          onFree: (free, first) => this.#free(free, first),
          onGone: (gone, end) => this.#gone(gone, end),
          onClosed: (gone) => this.#closed(gone),
        });
        this.#connecting++;
        this.#open.add(connection);
      } catch (error) {
        // Node refuses some targets before it tries them.
        this.#waiting.shift()?.onFailure(error as Error);
      }
    }
  }

  #free(connection: Connection, first: boolean): void {
    if (first) this.#connecting--;
    const exchange = this.#waiting.shift();
    if (exchange !== undefined) connection.send(exchange);
    else if (this.#retired) connection.destroy(closed());
    else this.#idle.push(connection);
  }

  #gone(connection: Connection, { error, exchange, connecting, unanswered }: ConnectionEnd): void {
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    if (connecting) {
      this.#connecting--;
      // Each attempt was made for somebody in line.
      this.#waiting.shift()?.onFailure(error);
    } else if (exchange !== undefined) {
      const harmless = unanswered && exchange.method === 'GET' && isClosure(error) && !this.#destroyed;
      if (harmless) this.#waiting.unshift(exchange);
      else exchange.onFailure(error);
    }
  }

  #closed(connection: Connection): void {
    this.#open.delete(connection);
    this.#connect();
    if (this.#open.size === 0) for (const tell of this.#whenClosed.splice(0)) tell();
  }

  #allClosed(): Promise<void> | undefined {
    if (this.#open.size === 0) return undefined;
    return new Promise((resolve) => void this.#whenClosed.push(resolve));
  }
}

function isClosure(error: Error): boolean {
  const { code } = error as { code?: string };
  return code === 'HTTP_CLOSED' || code === 'ECONNRESET' || code === 'EPIPE';
}

function closed(): HttpError {
  return new HttpError('HTTP_CLOSED', 'the client closed the connection');
}
