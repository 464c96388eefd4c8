// Receives request bodies, limited in size, time, number and bytes, per client and in total. A body's bytes are
// reserved before the first of them is read; until then it waits in the client's socket. The reservation counts until
// its owner releases it, which is when the body has been decoded.

import type { IncomingMessage } from 'node:http';
import type { Clock, Timer } from '../../runtime/ports.ts';
import { GrowingBuffer } from '../../wire/growing-buffer.ts';
import { badRequest, bodyTimeout, tooLarge, tooManyRequests, unsupportedMediaType } from '../verbs/status.ts';

export interface Usage {
  /** Bodies received, being received and waiting. */
  bodies: number;
  /** Bytes reserved for bodies received or being received. */
  bytes: number;
}

export interface BodyLimits {
  /** Of one body. */
  readonly maxBytes: number;
  /** From the request's head to the last byte of its body, including waiting. */
  readonly timeoutMs: number;
  readonly perClient: Readonly<Usage>;
  readonly all: Readonly<Usage>;
}

const MIB = 1024 * 1024;

/** `maxBytes` is kube-apiserver's. One client alone cannot use up the total. */
export const defaultBodyLimits: BodyLimits = {
  maxBytes: 3 * MIB,
  timeoutMs: 30_000,
  perClient: { bodies: 512, bytes: 4 * MIB },
  all: { bodies: 2048, bytes: 32 * MIB },
};

export interface ReceivedBody {
  /** Undefined when there is none. */
  readonly bytes: Buffer | undefined;
  /** Idempotent. */
  release(): void;
}

interface Body {
  readonly client: string;
  /** The maximum size it may turn out to have. */
  readonly length: number;
  /** Starts to receive it; undefined once started. */
  start: (() => void) | undefined;
}

export class BodyReader {
  readonly #clock: Clock;
  readonly limits: BodyLimits;
  readonly #all: Usage = { bodies: 0, bytes: 0 };
  readonly #clients = new Map<string, Usage>();
  readonly #waiting = new Set<Body>();

  constructor(clock: Clock, limits: BodyLimits = defaultBodyLimits) {
    this.#clock = clock;
    this.limits = limits;
  }

  /** Bytes reserved by all bodies now. */
  get usage(): Readonly<Usage> {
    return this.#all;
  }

  async read(message: IncomingMessage, client: string): Promise<ReceivedBody> {
    const { maxBytes, perClient, all } = this.limits;
    const encoding = message.headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity') {
      throw unsupportedMediaType(`request bodies encoded as ${encoding} are not supported`);
    }
    const length = declaredLength(message) ?? maxBytes;
    if (length > maxBytes) throw tooLarge(maxBytes);
    const used = this.#clients.get(client)?.bodies ?? 0;
    if (used >= perClient.bodies) throw tooManyRequests('this client has too many request bodies in flight');
    if (this.#all.bodies >= all.bodies) throw tooManyRequests('there are too many request bodies in flight');
    const body: Body = { client, length, start: undefined };
    this.#count(client, { bodies: 1, bytes: 0 });
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      this.#count(client, { bodies: -1, bytes: this.#waiting.delete(body) ? 0 : -length });
      this.#startWaiting();
    };
    try {
      return { bytes: await this.#receive(message, body), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #receive(message: IncomingMessage, body: Body): Promise<Buffer | undefined> {
    const { timeoutMs } = this.limits;
    const { length } = body;
    const buffer = new GrowingBuffer();
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
      const fail = (error: Error): void => {
        timer?.cancel();
        message.removeAllListeners('data');
        reject(error);
      };
      const left = (): void => {
        if (!message.complete) fail(badRequest('the client went away before the body was complete'));
      };
      body.start = () => {
        body.start = undefined;
        message.on('data', (chunk: Buffer) => {
          if (buffer.length + chunk.length > length) fail(tooLarge(this.limits.maxBytes));
          else buffer.append(chunk, 0, chunk.length, length);
        });
      };
      message.on('end', () => {
        timer?.cancel();
        resolve(buffer.length === 0 ? undefined : buffer.view());
      });
      message.on('error', left);
      message.on('close', left);
      timer = this.#clock.setTimeout(() => {
        const isWaiting = body.start !== undefined;
        fail(
          isWaiting
            ? tooManyRequests('this client has too many large bodies in flight')
            : bodyTimeout(timeoutMs),
        );
      }, timeoutMs);
      this.#waiting.add(body);
      this.#startWaiting();
    });
  }

  /** In order of arrival, skipping those that do not fit now. */
  #startWaiting(): void {
    const { perClient, all } = this.limits;
    for (const body of this.#waiting) {
      const { client, length, start } = body;
      if (this.#all.bytes + length > all.bytes) continue;
      if ((this.#clients.get(client)?.bytes ?? 0) + length > perClient.bytes) continue;
      this.#waiting.delete(body);
      this.#count(client, { bodies: 0, bytes: length });
      start?.();
    }
  }

  #count(client: string, { bodies, bytes }: Usage): void {
    const own = this.#clients.get(client) ?? { bodies: 0, bytes: 0 };
    for (const usage of [own, this.#all]) {
      usage.bodies += bodies;
      usage.bytes += bytes;
    }
    if (own.bodies === 0) this.#clients.delete(client);
    else this.#clients.set(client, own);
  }
}

/** Undefined without a Content-Length. */
function declaredLength({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}
