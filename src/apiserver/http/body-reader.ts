// Receives request bodies: bounded in size and time, and limited in number and in bytes, for each client and for all of
// them together. What is received counts until its owner releases it, which is when it has been decoded.

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../runtime/ports.ts';
import { badRequest, bodyTimeout, tooLarge, tooManyRequests, unsupportedMediaType } from '../verbs/status.ts';

export interface Usage {
  bodies: number;
  bytes: number;
}

export interface BodyLimits {
  /** Of one body. */
  readonly maxBytes: number;
  /** From its first byte to its last. */
  readonly timeoutMs: number;
  readonly perClient: Readonly<Usage>;
  readonly all: Readonly<Usage>;
}

const MIB = 1024 * 1024;

/** `maxBytes` is kube-apiserver's. One client alone cannot use up what there is for all. */
export const defaultBodyLimits: BodyLimits = {
  maxBytes: 3 * MIB,
  timeoutMs: 30_000,
  perClient: { bodies: 512, bytes: 16 * MIB },
  all: { bodies: 2048, bytes: 64 * MIB },
};

export interface ReceivedBody {
  /** Undefined when there is none. */
  readonly bytes: Buffer | undefined;
  /** Idempotent. */
  release(): void;
}

export class BodyReader {
  readonly #clock: Clock;
  readonly limits: BodyLimits;
  readonly #all: Usage = { bodies: 0, bytes: 0 };
  readonly #clients = new Map<string, Usage>();

  constructor(clock: Clock, limits: BodyLimits = defaultBodyLimits) {
    this.#clock = clock;
    this.limits = limits;
  }

  /** What all bodies under way hold now. */
  get usage(): Readonly<Usage> {
    return this.#all;
  }

  async read(message: IncomingMessage, client: string): Promise<ReceivedBody> {
    const { maxBytes } = this.limits;
    const encoding = message.headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity') {
      throw unsupportedMediaType(`request bodies encoded as ${encoding} are not supported`);
    }
    if (Number(message.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    const held: Usage = { bodies: 0, bytes: 0 };
    const release = (): void => {
      this.#take(client, held, { bodies: -held.bodies, bytes: -held.bytes });
    };
    try {
      this.#take(client, held, { bodies: 1, bytes: 0 });
      const bytes = await this.#receive(message, (bytes) => this.#take(client, held, { bodies: 0, bytes }));
      return { bytes, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #receive(message: IncomingMessage, reserve: (bytes: number) => void): Promise<Buffer | undefined> {
    const { maxBytes, timeoutMs } = this.limits;
    const buffer = new GrowingBuffer(reserve, maxBytes);
    return new Promise((resolve, reject) => {
      const timer = this.#clock.setTimeout(() => fail(bodyTimeout(timeoutMs)), timeoutMs);
      const fail = (error: Error): void => {
        timer.cancel();
        message.removeAllListeners('data');
        reject(error);
      };
      message.on('data', (chunk: Buffer) => {
        try {
          buffer.append(chunk);
        } catch (error) {
          fail(error as Error);
        }
      });
      message.on('end', () => {
        timer.cancel();
        resolve(buffer.content);
      });
      const left = (): void => {
        if (!message.complete) fail(badRequest('the client went away before the body was complete'));
      };
      message.on('error', left);
      message.on('close', left);
    });
  }

  /** Adds to what is held, within the limits; negative amounts give back. */
  #take(client: string, held: Usage, { bodies, bytes }: Usage): void {
    const { perClient, all } = this.limits;
    const own = this.#clients.get(client) ?? { bodies: 0, bytes: 0 };
    const isOver = (used: Usage, limit: Usage) =>
      (bodies > 0 && used.bodies + bodies > limit.bodies) || (bytes > 0 && used.bytes + bytes > limit.bytes);
    if (isOver(own, perClient)) throw tooManyRequests('this client has too many request bodies under way');
    if (isOver(this.#all, all)) throw tooManyRequests('there are too many request bodies under way');
    for (const usage of [held, own, this.#all]) {
      usage.bodies += bodies;
      usage.bytes += bytes;
    }
    if (own.bodies === 0 && own.bytes === 0) this.#clients.delete(client);
    else this.#clients.set(client, own);
  }
}

/** Most bodies come in one chunk, which is kept as it is. A body of many small chunks must not cost an object for each. */
class GrowingBuffer {
  readonly #reserve: (bytes: number) => void;
  readonly #maxBytes: number;
  #buffer: Buffer | undefined;
  #length = 0;

  constructor(reserve: (bytes: number) => void, maxBytes: number) {
    this.#reserve = reserve;
    this.#maxBytes = maxBytes;
  }

  append(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    if (this.#buffer === undefined) {
      this.#reserve(chunk.length);
      this.#buffer = chunk;
    } else {
      if (length > this.#buffer.length) this.#grow(Math.min(length * 2, this.#maxBytes));
      chunk.copy(this.#buffer, this.#length);
    }
    this.#length = length;
  }

  #grow(capacity: number): void {
    const old = this.#buffer as Buffer;
    this.#reserve(capacity - old.length);
    this.#buffer = Buffer.allocUnsafeSlow(capacity);
    old.copy(this.#buffer, 0, 0, this.#length);
  }

  get content(): Buffer | undefined {
    return this.#buffer?.subarray(0, this.#length);
  }
}
