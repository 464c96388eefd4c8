// The trace over HTTPS: `GET /berth/trace?kind=claim&namespace=default&name=data`, answered as one JSON value a line.

import { answerLines, type PathHandler } from '../runtime/process/path-handler.ts';
import { SUBJECT_KINDS, type Subject, type SubjectKind, SubjectTrace } from './related-entries.ts';
import type { TraceBook } from './trace-book.ts';
import {
  claimToken,
  groupToken,
  podToken,
  snapshotToken,
  type TraceLine,
  volumeToken,
} from './trace-entry.ts';

export const TRACE_PATH = '/berth/trace';

export function tracePath(book: TraceBook): PathHandler {
  return async (request) => {
    const { query, response } = request;
    const kind = SUBJECT_KINDS.find((each) => each === query.get('kind'));
    const namespace = query.get('namespace') ?? 'default';
    const name = query.get('name') ?? '';
    if (kind === undefined || name === '') {
      response.writeHead(400, { 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(`a trace needs kind (${SUBJECT_KINDS.join(', ')}) and name\n`);
      return;
    }
    const trace = new SubjectTrace(subjectNamed({ kind, namespace, name }));
    await answerLines<TraceLine>(request, {
      kept: trace.kept(book.entries()),
      follow: (listener) =>
        book.follow((entry) => {
          for (const line of trace.next(entry)) listener(line);
        }),
    });
  };
}

const TOKENS = {
  pod: podToken,
  claim: claimToken,
  volume: (_namespace: string, name: string) => volumeToken(name),
  snapshot: snapshotToken,
  group: groupToken,
} as const;

export const subjectNamed = (asked: { kind: SubjectKind; namespace: string; name: string }): Subject => ({
  kind: asked.kind,
  token: TOKENS[asked.kind](asked.namespace, asked.name),
});
