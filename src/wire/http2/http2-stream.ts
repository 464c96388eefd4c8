// One stream, which carries one call: its state, its flow-control windows, and what it still has to send.

import type { HeaderField } from './header-table.ts';

/** What the owner of a stream is told, until it has ended on both sides or was reset by either. */
export interface StreamEvents {
  /** Name, value, name, value. `isTooLong`: some were left out. */
  headers(fields: readonly string[], state: { isEnd: boolean; isTooLong: boolean }): void;
  data(bytes: Buffer, isEnd: boolean): void;
  /** It ended before its time. */
  aborted(why: StreamFailure): void;
}

export interface StreamFailure {
  /**
   * `reset`: by the peer, or by us because the peer broke the rules; with the code. `refused`: the peer has not processed
   * it. `lost`: with the connection.
   */
  readonly kind: 'reset' | 'refused' | 'lost';
  readonly code: number;
  readonly text: string;
}

export interface Headers {
  /** Sent with many calls: the same object each time, so that the encoder knows it by identity. */
  readonly known: readonly HeaderField[];
  /** Of this call alone. */
  readonly once?: readonly HeaderField[];
  readonly isEnd?: boolean;
}

export type Unsent =
  | { readonly headers: Headers }
  | { readonly bytes: Buffer; readonly isEnd: boolean; readonly sent: (() => void) | undefined };

const noEvents: StreamEvents = { headers() {}, data() {}, aborted() {} };

export class Http2Stream {
  readonly id: number;
  events: StreamEvents = noEvents;
  /** Bytes that may still be sent, and received. */
  sendWindow: number;
  receiveWindow: number;
  /** Bytes that the peer may send beyond what the last WINDOW_UPDATE told it. */
  unannounced = 0;
  readonly unsent: Unsent[] = [];
  isLocalEnded = false;
  isRemoteEnded = false;
  /** Its request, or the final head of its answer, has come. */
  hasHead = false;
  /** Bytes of its body: as announced by content-length, and received so far. */
  announcedBytes: number | undefined;
  bodyBytes = 0;

  constructor(id: number, windows: { send: number; receive: number }) {
    this.id = id;
    this.sendWindow = windows.send;
    this.receiveWindow = windows.receive;
  }
}
