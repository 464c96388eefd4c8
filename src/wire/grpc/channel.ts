// A channel to a server that may restart: one connection at a time, opened when a call or a waiter needs it. Calls wait
// while it connects. When nobody answers they fail at once, and it is tried again with backoff.

import type { Socket } from 'node:net';
import type { Clock, Timer } from '../clock.ts';
import { Http2Connection } from '../http2/http2-connection.ts';
import type { CallStatus } from './call-headers.ts';
import { grpcCodes } from './grpc-code.ts';

/** `idle`: connects with the next call. `failing`: nobody answers; tried again after the backoff. */
export type ConnectionState = 'idle' | 'connecting' | 'ready' | 'failing' | 'closed';

// Drivers restart often, and their sockets answer at once or not at all. The official components wait at most a second,
// too.
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 1000;
const BACKOFF_FACTOR = 1.6;
/** gRPC's own limit, for a server that accepts and sends nothing. */
const HANDSHAKE_MS = 20_000;

/** What a channel does to a call: one of these two, once. */
export interface ChannelCall {
  readonly isOver: boolean;
  send(connection: Http2Connection): void;
  cancel(status: CallStatus): void;
}

export class Channel {
  readonly #connect: () => Socket;
  readonly #clock: Clock;
  readonly #listeners = new Set<(state: ConnectionState) => void>();
  /** Calls that wait for a connection, or for room on it. */
  #waiting: ChannelCall[] = [];
  #connection: Http2Connection | undefined;
  #state: ConnectionState = 'idle';
  #backoffMs = FIRST_BACKOFF_MS;
  #timer: Timer | undefined;
  #failure = '';

  /** `connect` opens a socket, which may still be connecting when it returns. */
  constructor(options: { connect: () => Socket; clock: Clock }) {
    this.#connect = options.connect;
    this.#clock = options.clock;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Until the returned function is called. */
  onStateChange(listener: (state: ConnectionState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(call: ChannelCall): void {
    const connection = this.#connection;
    if (this.#state === 'ready' && connection?.hasRoom && this.#waiting.length === 0) {
      call.send(connection);
      return;
    }
    if (this.#state === 'failing') {
      this.#refuse(call);
      return;
    }
    this.#waiting.push(call);
    if (this.#state === 'ready') connection?.whenRoom(() => this.#sendWaiting());
    else this.connect();
  }

  /** Starts connecting if idle. */
  connect(): void {
    if (this.#state !== 'idle') return;
    this.#become('connecting');
    this.#attempt();
  }

  /** Calls under way are cut off. */
  close(): void {
    if (this.#state === 'closed') return;
    this.#timer?.cancel();
    const connection = this.#connection;
    this.#connection = undefined;
    this.#become('closed');
    this.#listeners.clear();
    this.#failure = 'the connection was closed';
    connection?.destroy();
    this.#refuseWaiting();
  }

  #attempt(): void {
    const socket = this.#connect();
    // A connection does not keep the process; the timer of a call in flight does.
    socket.unref();
    const connection: Http2Connection = new Http2Connection({
      socket,
      clock: this.#clock,
      onReady: () => {
        if (this.#connection !== connection) return;
        this.#timer?.cancel();
        this.#backoffMs = FIRST_BACKOFF_MS;
        this.#become('ready');
        this.#sendWaiting();
      },
      onLeaving: () => {
        // Calls in flight end on it; new ones get another connection.
        if (this.#connection !== connection || this.#state !== 'ready') return;
        this.#connection = undefined;
        this.#become('idle');
        if (this.#waiting.length > 0) this.connect();
      },
      onClosed: (why) => {
        if (this.#connection === connection) this.#failed(why?.message ?? 'the other side hung up');
      },
    });
    this.#connection = connection;
    this.#timer = this.#clock.setTimeout(() => {
      this.#failed(`no answer within ${HANDSHAKE_MS} ms of connecting`);
      connection.destroy();
    }, HANDSHAKE_MS);
  }

  #failed(why: string): void {
    this.#timer?.cancel();
    this.#connection = undefined;
    this.#failure = why;
    this.#become('failing');
    this.#refuseWaiting();
    if (this.#state !== 'failing') return;
    this.#timer = this.#clock.setTimeout(() => {
      // Without listeners the next call connects.
      if (this.#listeners.size > 0) this.#attempt();
      else this.#become('idle');
    }, this.#backoffMs);
    this.#backoffMs = Math.min(MAX_BACKOFF_MS, this.#backoffMs * BACKOFF_FACTOR);
  }

  #sendWaiting(): void {
    const connection = this.#connection;
    if (this.#state !== 'ready' || connection === undefined) return;
    while (this.#waiting.length > 0 && connection.hasRoom) {
      const call = this.#waiting.shift();
      if (call && !call.isOver) call.send(connection);
    }
    if (this.#waiting.length > 0) connection.whenRoom(() => this.#sendWaiting());
  }

  #refuseWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) this.#refuse(call);
  }

  #refuse(call: ChannelCall): void {
    const code = this.#state === 'closed' ? grpcCodes.CANCELLED : grpcCodes.UNAVAILABLE;
    call.cancel({ code, text: this.#failure, isOurs: true });
  }

  #become(state: ConnectionState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    for (const listener of [...this.#listeners]) listener(state);
  }
}
