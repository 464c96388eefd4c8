// Why a step failed, from what was recorded: the driver's last error to one of the step's calls, a call that is still in
// flight, or the last warning event. Also notices a call that keeps failing in the same way, so that nobody waits for the
// time-out.

import { events } from '../api/kinds.ts';
import type { Reader } from '../apiserver/pipeline.ts';
import { codeText, quoted } from '../check/report/reporter.ts';
import { type CsiOperation, outcomes } from '../csi/outcome.ts';
import type { TraceBook } from '../trace/trace-book.ts';
import type { CsiEntry } from '../trace/trace-entry.ts';
import type { GrpcCode } from '../wire/grpc/grpc-code.ts';

/** A failure that repeats this often will not end by itself. */
const ENOUGH = 3;

/** What a user can do about a code, where that is known. */
const ADVICE: Partial<Record<GrpcCode, string>> = {
  INVALID_ARGUMENT:
    'if a parameter is missing, give it with --class-parameters or in the StorageClass of --class',
  UNAUTHENTICATED: 'give the secret and a StorageClass that names it with --class',
  PERMISSION_DENIED: 'give the secret and a StorageClass that names it with --class',
  OUT_OF_RANGE: 'give a size that the driver supports with --size',
  UNIMPLEMENTED: 'the driver reports a capability whose call it does not have',
};

/**
 * Calls back once it is certain that waiting does not help: the driver refused a call as infeasible, or failed it `ENOUGH`
 * times with the same error. A driver that is busy or away (`maybe-in-progress`) is waited for.
 */
export function onHopelessCall(
  book: TraceBook,
  methods: readonly string[],
  callback: (words: string) => void,
): () => void {
  const failures = new Map<string, number>();
  return book.follow((entry) => {
    if (entry.kind !== 'csi' || !methods.includes(entry.method) || !isFailure(entry)) return;
    const { outcome } = outcomes[entry.method as CsiOperation][entry.code as GrpcCode];
    if (outcome === 'maybe-in-progress') return;
    const key = `${entry.method} ${entry.code} ${entry.error}`;
    const times = (failures.get(key) ?? 0) + 1;
    failures.set(key, times);
    if (outcome === 'infeasible' || times === ENOUGH) callback(failureWords(entry, times));
  });
}

export function explain(options: {
  book: TraceBook;
  reader: Reader;
  /** Default: all. */
  methods?: readonly string[];
  sinceMs: number;
}): string {
  const { book, reader, methods, sinceMs } = options;
  const calls = book
    .entries()
    .filter(
      (entry): entry is CsiEntry =>
        entry.kind === 'csi' && (methods?.includes(entry.method) ?? true) && entry.atMs >= sinceMs,
    );
  const failures = calls.filter(isFailure);
  const last = failures.at(-1);
  if (last) return failureWords(last, failures.filter(({ method }) => method === last.method).length);
  const open = calls.find(({ durationMs }) => durationMs === undefined);
  if (open) {
    return `${open.method} has been in flight for ${Math.round((book.nowMs() - open.atMs) / 1000)} s without an answer`;
  }
  const warning = [...reader.list(events)]
    .filter(({ type }) => type === 'Warning')
    .toSorted((a, b) => String(a.lastTimestamp).localeCompare(String(b.lastTimestamp)))
    .at(-1);
  if (warning) return `the last event was ${warning.reason}: ${warning.message}`;
  return methods === undefined || methods.length === 0 ? '' : `${methods.join(', ')} was not called`;
}

const isFailure = ({ code }: CsiEntry): boolean => code !== undefined && code !== 'OK';

function failureWords({ method, code, error }: CsiEntry, times: number): string {
  const known = code as GrpcCode;
  const often = times === 1 ? '' : ` ${times} times, last`;
  const advice = ADVICE[known];
  return `${method} failed${often} with ${codeText(known)}; ${quoted(error ?? '')}${advice === undefined ? '' : `; ${advice}`}`;
}
