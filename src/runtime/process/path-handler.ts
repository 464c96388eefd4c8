// How a path beside Kubernetes' own is answered, and the answer that `berth trace` and `berth logs` read: one JSON value
// a line, first what is kept, then with `follow=true` each new value until the client leaves.

import type { ServerResponse } from 'node:http';
import { aborted } from '../time/until-aborted.ts';

export interface PathRequest {
  /** `GET`, unless the handler takes others. */
  readonly method: string;
  readonly query: URLSearchParams;
  readonly response: ServerResponse;
  /** Aborts when the client has left or the server stops. */
  readonly gone: AbortSignal;
}

/** Answers GET on one path; with `writes`, other methods, too, each of which is authorized as itself. */
export type PathHandler = ((request: PathRequest) => Promise<void>) & { readonly writes?: boolean };

export interface Lines<T> {
  readonly kept: Iterable<T>;
  /** Calls back with each new value; returns the function that ends it. */
  follow(listener: (value: T) => void): () => void;
}

export async function answerLines<T>(
  { query, response, gone }: PathRequest,
  { kept, follow }: Lines<T>,
): Promise<void> {
  const send = (value: T): void => {
    response.write(`${JSON.stringify(value)}\n`);
  };
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson; charset=utf-8' });
  for (const value of kept) send(value);
  if (query.get('follow') !== 'true') {
    response.end();
    return;
  }
  // With no body yet, Node holds the headers back; a client that follows waits for them.
  response.flushHeaders();
  const unfollow = follow(send);
  await aborted(gone);
  unfollow();
  response.end();
}
