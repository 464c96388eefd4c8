// The trace over HTTPS: `GET /berth/trace?kind=claim&namespace=default&name=data`, answered as one JSON entry a line;
// with `follow=true` the answer goes on for as long as the client reads.

import type { PathHandler } from '../apiserver/index.ts';
import { Relations, relatedEntries } from './related-entries.ts';
import type { TraceBook } from './trace-book.ts';
import { claimToken, podToken, type TraceEntry } from './trace-entry.ts';

export const TRACE_PATH = '/berth/trace';

export function tracePath(book: TraceBook): PathHandler {
  return async ({ query, response, gone }) => {
    const kind = query.get('kind');
    const namespace = query.get('namespace') ?? 'default';
    const name = query.get('name') ?? '';
    if ((kind !== 'claim' && kind !== 'pod') || name === '') {
      response.writeHead(400, { 'Content-Type': 'text/plain; charset=utf-8' });
      response.end('a trace needs kind (claim or pod) and name\n');
      return;
    }
    const token = kind === 'claim' ? claimToken(namespace, name) : podToken(namespace, name);
    const relations = new Relations({ kind, token });
    const send = (entry: TraceEntry): void => {
      response.write(`${JSON.stringify(entry)}\n`);
    };
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson; charset=utf-8' });
    for (const entry of relatedEntries(book.entries(), relations)) send(entry);
    if (query.get('follow') !== 'true') {
      response.end();
      return;
    }
    // Headers alone do not leave by themselves, and whoever follows wants to know that it works.
    response.flushHeaders();
    const unfollow = book.follow((entry) => {
      relations.learn(entry);
      if (relations.has(entry)) send(entry);
    });
    await new Promise<void>((resolve) => {
      if (gone.aborted) resolve();
      gone.addEventListener('abort', () => resolve(), { once: true });
    });
    unfollow();
    response.end();
  };
}
