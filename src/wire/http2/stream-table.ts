// The streams of one connection: which are open, which numbers are used up, and how many more the peer takes. Knows no
// frames.

import { protocolError } from './http2-error.ts';
import { Http2Stream } from './http2-stream.ts';

/**
 * Streams that we reset and whose peer may not know it yet. Its frames for them are ignored; those for any other closed
 * stream are errors. The oldest is forgotten first: by then the peer has read about a thousand resets after it.
 */
const MAX_RESETS = 1024;
const MAX_STREAM_ID = 2 ** 31 - 1;

export class StreamTable {
  readonly #isServer: boolean;
  readonly #onClose: () => void;
  readonly #open = new Map<number, Http2Stream>();
  readonly #resets = new Set<number>();
  #lastOwn = -1;
  #lastPeer = 0;
  #peerMax = Number.POSITIVE_INFINITY;
  #waiting: (() => void)[] = [];

  /** `onClose`: one stream fewer is open. */
  constructor(options: { isServer: boolean; onClose: () => void }) {
    this.#isServer = options.isServer;
    this.#onClose = options.onClose;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The highest number that the peer has used. */
  get lastPeer(): number {
    return this.#lastPeer;
  }

  /** No number is left for another stream of ours. */
  get isUsedUp(): boolean {
    return this.#lastOwn === MAX_STREAM_ID;
  }

  /** Whether the peer takes another stream now. */
  get hasRoom(): boolean {
    return this.#open.size < this.#peerMax;
  }

  values(): MapIterator<Http2Stream> {
    return this.#open.values();
  }

  /** Undefined for a closed stream. Throws for one that was never opened. */
  get(id: number): Http2Stream | undefined {
    const stream = this.#open.get(id);
    if (stream === undefined && this.isIdle(id))
      throw protocolError(`a frame for stream ${id}, which is idle`);
    return stream;
  }

  isIdle(id: number): boolean {
    return id === 0 || id % 2 === 0 || id > (this.#isServer ? this.#lastPeer : this.#lastOwn);
  }

  /** Whether the peer may open a stream with this number. Numbers that it has skipped are closed. */
  isNext(id: number): boolean {
    return id % 2 === 1 && id > this.#lastPeer;
  }

  /** We have reset it, and frames for it may still be on their way. */
  wasReset(id: number): boolean {
    return this.#resets.has(id);
  }

  openOwn(windows: { send: number; receive: number }): Http2Stream {
    this.#lastOwn += 2;
    return this.#add(new Http2Stream(this.#lastOwn, windows));
  }

  /** Uses up a number of the peer, whether its stream is taken or not. */
  usePeer(id: number): void {
    this.#lastPeer = id;
  }

  openPeer(id: number, windows: { send: number; receive: number }): Http2Stream {
    return this.#add(new Http2Stream(id, windows));
  }

  /** False if it was closed already. */
  close(stream: Http2Stream): boolean {
    if (!this.#open.delete(stream.id)) return false;
    stream.isLocalEnded = true;
    stream.isRemoteEnded = true;
    stream.unsent.length = 0;
    this.tellOfRoom();
    this.#onClose();
    return true;
  }

  rememberReset(id: number): void {
    this.#resets.add(id);
    if (this.#resets.size <= MAX_RESETS) return;
    for (const oldest of this.#resets) {
      this.#resets.delete(oldest);
      return;
    }
  }

  limit(peerMax: number): void {
    this.#peerMax = peerMax;
  }

  /** Calls back, once, when there may be room. */
  whenRoom(callback: () => void): void {
    this.#waiting.push(callback);
  }

  tellOfRoom(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }

  #add(stream: Http2Stream): Http2Stream {
    this.#open.set(stream.id, stream);
    return stream;
  }
}
