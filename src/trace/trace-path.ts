// The trace over HTTPS: `GET /berth/trace?kind=claim&namespace=default&name=data`, answered as one JSON entry a line.

import { answerLines, type PathHandler } from '../runtime/process/path-handler.ts';
import { Relations, relatedEntries } from './related-entries.ts';
import type { TraceBook } from './trace-book.ts';
import { claimToken, podToken } from './trace-entry.ts';

export const TRACE_PATH = '/berth/trace';

export function tracePath(book: TraceBook): PathHandler {
  return async (request) => {
    const { query, response } = request;
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
    await answerLines(request, {
      kept: relatedEntries(book.entries(), relations),
      follow: (listener) =>
        book.follow((entry) => {
          relations.learn(entry);
          if (relations.has(entry)) listener(entry);
        }),
    });
  };
}
