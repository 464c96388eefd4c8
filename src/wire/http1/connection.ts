// One connection, which carries one exchange at a time. Owns its socket and its time-outs. After anything unexpected it is
// destroyed and never used again.

import type { Socket } from 'node:net';
import type { Clock, Timer } from '../clock.ts';
import { type AnswerHead, AnswerParser } from './answer-parser.ts';
import { HttpError, type HttpErrorCode } from './http-error.ts';
import { openSocket, type SocketTarget, type TlsSession } from './open-socket.ts';
import type { BodyEncoding } from './request-text.ts';

/** One request and the callbacks for its answer. `onEnd` or `onFailure` is the last one called. */
export interface Exchange {
  readonly method: string;
  readonly text: string;
  readonly encoding?: BodyEncoding | undefined;
  /** Has no time-out between pieces of its body, and may be paused. */
  readonly streaming: boolean;
  /** A longer body fails the exchange; `Infinity` for a stream that is read as it comes. */
  readonly maxBodyBytes: number;
  onHead(head: AnswerHead, flow: Flow): void;
  /** The bytes change after the call. */
  onData(bytes: Buffer): void;
  onEnd(): void;
  onFailure(error: Error): void;
}

/** Back pressure on a streaming answer. A little more may come after `pause`. */
export interface Flow {
  pause(): void;
  resume(): void;
}

export interface ConnectionTimeouts {
  readonly connectMs: number;
  /** From the request to the head of its answer. */
  readonly answerMs: number;
  /** Between two pieces of a body. */
  readonly silenceMs: number;
  /** Without a request. */
  readonly idleMs: number;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly target: SocketTarget;
  readonly session: TlsSession;
  /** Shared by all connections: each piece is consumed before the next is read. */
  readonly readBuffer: Buffer;
  readonly timeouts: ConnectionTimeouts;
  /** It can carry a request: for the first time, or again after an answer. */
  onFree(connection: Connection, first: boolean): void;
  /** It will carry no further one. */
  onGone(connection: Connection, end: ConnectionEnd): void;
  /** Its socket is closed. */
  onClosed(connection: Connection): void;
}

export interface ConnectionEnd {
  readonly error: Error;
  /** It never was connected. */
  readonly connecting: boolean;
  /** The exchange that it carried. */
  readonly exchange: Exchange | undefined;
  /** A kept connection without a byte of an answer: the server may have closed it before the request arrived. */
  readonly unanswered: boolean;
}

/** A server closes idle connections by its own clock: ours are closed this much earlier than it announces. */
const IDLE_MARGIN_MS = 1000;

export class Connection implements Flow {
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #parser: AnswerParser;
  #exchange: Exchange | undefined;
  #connected = false;
  #used = false;
  #heard = false;
  #answering = false;
  #bodyBytes = 0;
  #paused = false;
  #gone = false;
  #timer: Timer | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#parser = new AnswerParser({
      onHead: (head) => {
        this.#answering = true;
        this.#exchange?.onHead(head, this);
      },
      onData: (bytes) => this.#data(bytes),
    });
    this.#socket = openSocket({
      target: options.target,
      session: options.session,
      // Bypasses Node's streams, which would cost more than the rest of reading an answer.
      onread: {
        buffer: options.readBuffer,
        callback: (length, buffer) => this.#read((buffer as Buffer).subarray(0, length)),
      },
      onReady: () => this.#ready(),
    });
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.on('end', () => this.#end());
    this.#socket.on('close', () => {
      this.destroy(closed());
      options.onClosed(this);
    });
    this.#arm(options.timeouts.connectMs, 'HTTP_CONNECT_TIMEOUT', 'no connection in time');
  }

  get exchange(): Exchange | undefined {
    return this.#exchange;
  }

  /** Only while it is free. */
  send(exchange: Exchange): void {
    this.#exchange = exchange;
    this.#heard = false;
    this.#answering = false;
    this.#bodyBytes = 0;
    this.#parser.expect(exchange.method);
    this.#socket.ref();
    this.#arm(this.#options.timeouts.answerMs, 'HTTP_ANSWER_TIMEOUT', 'no answer in time');
    this.#socket.write(exchange.text, exchange.encoding);
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#socket.resume();
  }

  destroy(error: Error): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#timer?.cancel();
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    const unanswered = this.#used && !this.#heard;
    this.#options.onGone(this, { error, exchange, connecting: !this.#connected, unanswered });
  }

  #ready(): void {
    if (this.#gone) return;
    this.#rest();
  }

  #read(bytes: Buffer): boolean {
    const exchange = this.#exchange;
    if (exchange === undefined) {
      this.destroy(new HttpError('HTTP_MALFORMED', 'the server sent unsolicited bytes'));
      return false;
    }
    this.#heard = true;
    let whole = false;
    try {
      whole = this.#parser.push(bytes);
    } catch (error) {
      this.destroy(error as Error);
    }
    if (this.#gone) return false;
    if (whole) this.#finish(exchange, this.#parser.keepAlive);
    else if (this.#answering) this.#listen(exchange);
    return !this.#paused;
  }

  #data(bytes: Buffer): void {
    const { maxBodyBytes = 0 } = this.#exchange ?? {};
    this.#bodyBytes += bytes.length;
    if (this.#bodyBytes > maxBodyBytes) {
      throw new HttpError('HTTP_TOO_LARGE', `the answer is longer than ${maxBodyBytes} bytes`);
    }
    this.#exchange?.onData(bytes);
  }

  /** The body goes on. */
  #listen({ streaming }: Exchange): void {
    if (streaming) this.#timer?.cancel();
    else this.#arm(this.#options.timeouts.silenceMs, 'HTTP_SILENT', 'no data in the middle of a response');
  }

  /** The server has closed its side. */
  #end(): void {
    if (this.#exchange !== undefined && this.#parser.close()) this.#finish(this.#exchange, false);
    else this.destroy(closed());
  }

  #finish(exchange: Exchange, keep: boolean): void {
    this.#exchange = undefined;
    this.#used = true;
    if (this.#paused) this.resume();
    // A server may answer before it has read all of a request; the rest would be taken for the next request.
    if (keep && this.#socket.writableLength === 0) this.#rest();
    else this.destroy(closed());
    exchange.onEnd();
  }

  /** Waits for the next exchange. */
  #rest(): void {
    const { idleSeconds = Number.POSITIVE_INFINITY } = this.#parser;
    const idleMs = Math.min(this.#options.timeouts.idleMs, idleSeconds * 1000 - IDLE_MARGIN_MS);
    if (idleMs <= 0) {
      this.destroy(closed());
      return;
    }
    this.#arm(idleMs, 'HTTP_CLOSED', 'idle for too long');
    // An idle connection must not keep the process.
    this.#timer?.unref?.();
    this.#socket.unref();
    const first = !this.#connected;
    this.#connected = true;
    this.#options.onFree(this, first);
  }

  #arm(delayMs: number, code: HttpErrorCode, message: string): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimeout(() => this.destroy(new HttpError(code, message)), delayMs);
  }
}

function closed(): HttpError {
  return new HttpError('HTTP_CLOSED', 'the server closed the connection');
}
