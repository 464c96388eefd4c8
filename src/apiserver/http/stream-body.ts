// Sends response bodies of any size: in chunks, each written in the client's turn of the fair queue, and only when the client
// has read those before it.

import type { ServerResponse } from 'node:http';
import type { Clock } from '../../runtime/ports.ts';
import { type AnswerOptions, answerJson, prettyJson, startAnswer } from './answer.ts';
import type { FairQueue, Steps } from './fair-queue.ts';

/** Encrypted and written to the socket in one step, which takes about 0.2 ms. */
export const CHUNK_BYTES = 128 * 1024;
/** Below the socket's high-water mark: sent at once. */
const SMALL_BYTES = 16 * 1024;
/** As with watches. */
const STALL_MS = 30_000;

export interface Chunk {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** Builds the next chunk, of about `length` bytes. Not to be called after the last one. */
export type NextChunk = (length: number) => Steps<Chunk>;

export interface Streaming {
  readonly response: ServerResponse;
  readonly machine: { readonly clock: Clock };
  readonly fair: FairQueue;
  readonly client: string;
}

export async function answerBody(
  streaming: Streaming,
  json: Buffer | string,
  { pretty, ...options }: AnswerOptions,
): Promise<void> {
  const { response } = streaming;
  const body = pretty ? prettyJson(json) : json;
  if (Buffer.byteLength(body) <= SMALL_BYTES)
    return answerJson(response, body, { ...options, pretty: false });
  if (response.headersSent || response.destroyed) return;
  // Without a length: see writeChunks.
  startAnswer(response, options);
  return streamChunks(streaming, chunksOf(typeof body === 'string' ? Buffer.from(body) : body));
}

/** The head of the response has been written. */
export async function streamChunks(
  { response, machine, fair, client }: Streaming,
  next: NextChunk,
): Promise<void> {
  const write = () => writeChunks(response, next, machine.clock);
  let isOver = false;
  while (!isOver) isOver = await fair.run(client, write, { goesOn: true });
}

/** True: the last chunk is sent, or the client is gone. False: the client has read what was written. */
function* writeChunks(
  response: ServerResponse,
  next: NextChunk,
  clock: Clock,
): Steps<boolean | Promise<boolean>> {
  for (;;) {
    const { bytes, isLast } = yield* next(CHUNK_BYTES);
    if (response.destroyed) return true;
    if (isLast) {
      // A client must not receive the end of a response while the socket still has to drain: if its next request arrives
      // then, Node pauses the parser but continues to feed it decrypted TLS data, which fails with HPE_PAUSED.
      // With a Content-Length the client would know the end too early.
      const isTaken = writeNow(response, bytes, () => response.end());
      return isTaken || drained(response, clock).then(() => true);
    }
    if (!writeNow(response, bytes)) return drained(response, clock).then(() => false);
    yield;
  }
}

/**
 * Encrypts and sends at once, so that it counts as work of the client's turn: Node would do it after the turn. False: the
 * client must read before more is written.
 */
export function writeNow(response: ServerResponse, body: Buffer | string, written?: () => void): boolean {
  const mayGoOn = response.write(body, written);
  response.socket?.uncork();
  return mayGoOn;
}

function chunksOf(body: Buffer): NextChunk {
  let at = 0;
  // biome-ignore lint/correctness/useYield: a slice is one step.
  return function* (length) {
    const bytes = body.subarray(at, at + length);
    at += length;
    return { bytes, isLast: at >= body.length };
  };
}

/** Waits until the socket drains or closes. A client that does not read for too long is disconnected. */
function drained(response: ServerResponse, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stalled = clock.setTimeout(() => response.destroy(), STALL_MS);
    const done = (): void => {
      stalled.cancel();
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
