// One stream, which is one call: its state, its windows, and what it still has to send.

import type { HeaderField } from './header-table.ts';

/** What the owner of a stream is told, until it has ended on both sides or was given up by either. */
export interface StreamEvents {
  /** Name, value, name, value. `isTooLong`: some were left out. */
  headers(fields: readonly string[], state: { isEnd: boolean; isTooLong: boolean }): void;
  data(bytes: Buffer, isEnd: boolean): void;
  /** Over before its time. */
  aborted(why: StreamFailure): void;
}

export interface StreamFailure {
  /** `reset`: by the peer, with its code. `refused`: the peer has not looked at it. `lost`: with the connection. */
  readonly kind: 'reset' | 'refused' | 'lost';
  readonly code: number;
  readonly text: string;
}

export interface Headers {
  /** Sent in many calls, and the same object each time. */
  readonly known: readonly HeaderField[];
  /** Of this call alone. */
  readonly once?: readonly HeaderField[];
  readonly isEnd?: boolean;
}

export type Unsent =
  | { readonly headers: Headers }
  | { readonly bytes: Buffer; readonly isEnd: boolean; readonly sent: (() => void) | undefined };

const deaf: StreamEvents = { headers() {}, data() {}, aborted() {} };

export class Http2Stream {
  readonly id: number;
  events: StreamEvents = deaf;
  /** Bytes that may still be sent, and received. */
  sendWindow: number;
  receiveWindow: number;
  /** Bytes that the peer may send and has not been told of yet. */
  ungranted = 0;
  readonly unsent: Unsent[] = [];
  isLocalEnded = false;
  isRemoteEnded = false;
  hasHeaders = false;

  constructor(id: number, windows: { send: number; receive: number }) {
    this.id = id;
    this.sendWindow = windows.send;
    this.receiveWindow = windows.receive;
  }
}
