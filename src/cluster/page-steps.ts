// The trace as the page shows it.

import type { Step } from '../dashboard/page-messages.ts';
import type { EndedCall, RecordedChange, StepSource } from '../dashboard/step-source.ts';
import { SubjectTrace } from '../trace/related-entries.ts';
import { textOf } from '../trace/timeline.ts';
import type { TraceBook } from '../trace/trace-book.ts';
import type { ApiEntry, TraceEntry } from '../trace/trace-entry.ts';
import { subjectNamed } from '../trace/trace-path.ts';

export function stepSourceOf(book: TraceBook): StepSource {
  const stepOf = (entry: TraceEntry): Step => ({
    seq: entry.seq,
    atMs: entry.atMs,
    by: entry.by,
    text: textOf(entry, book.nowMs()),
    kind: entry.kind,
    hasFailed: entry.kind === 'retry' || (entry.kind === 'csi' && hasFailed(entry.code)),
  });
  return {
    recent: (most) => book.entries().slice(-most).map(stepOf),
    of({ kind, namespace, name }) {
      const trace = new SubjectTrace(subjectNamed({ kind, namespace, name }));
      return trace.kept(book.entries()).flatMap((line) => (line.kind === 'earlier' ? [] : [stepOf(line)]));
    },
    recording() {
      const entries = book.entries();
      return {
        sinceMs: entries[0]?.atMs,
        calls: entries.flatMap((entry) => {
          const call = callOf(entry);
          return call ? [{ ...call, atMs: entry.atMs + call.durationMs }] : [];
        }),
        changes: entries.flatMap((entry) => (isCounted(entry) ? [changeOf(entry)] : [])),
      };
    },
    follow: (listener) => book.follow((entry) => listener(stepOf(entry), callOf(entry))),
  };
}

/** Pods without a claim are not on the page. */
const isCounted = (entry: TraceEntry): entry is ApiEntry =>
  entry.kind === 'api' &&
  (entry.object.kind === 'PersistentVolumeClaim' ||
    entry.object.kind === 'VolumeAttachment' ||
    (entry.object.kind === 'Pod' && entry.links.some((link) => link.startsWith('claim '))));

const changeOf = ({ atMs, self, verb, phase }: ApiEntry): RecordedChange => ({
  atMs,
  key: self,
  verb,
  ...(phase !== undefined && { phase }),
});

/** A call under way has no code yet. */
const hasFailed = (code: string | undefined): boolean => code !== undefined && code !== 'OK';

function callOf(entry: TraceEntry): EndedCall | undefined {
  if (entry.kind !== 'csi' || entry.durationMs === undefined) return undefined;
  const { method, durationMs, code } = entry;
  return { method, durationMs, hasFailed: hasFailed(code) };
}
