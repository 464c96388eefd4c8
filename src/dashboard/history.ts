// Samples of the time before the page was opened, computed from what was recorded. Counts are derived from the present tables and
// the recorded changes: an object without a recorded change has always been as it is now. Pure.

import { CallCounter } from './call-figures.ts';
import type { Sample, Tables } from './page-messages.ts';
import type { RecordedChange, Recording } from './step-source.ts';

export interface HistoryOptions {
  readonly recording: Recording;
  /** As of `toMs`. */
  readonly tables: Pick<Tables, 'volumes' | 'pods'>;
  readonly fromMs: number;
  readonly toMs: number;
  /** Between two samples. */
  readonly stepMs: number;
}

type Counted = keyof Omit<Sample, 'atMs' | 'calls'>;

/** Oldest first; the last one is at `toMs`. */
export function historyOf(options: HistoryOptions): Sample[] {
  const { fromMs, toMs, stepMs, recording } = options;
  const steps = Math.max(0, Math.floor((toMs - fromMs) / stepMs));
  const times = Array.from({ length: steps + 1 }, (_, index) => toMs - (steps - index) * stepMs);
  /** The first sample that is not before the time. */
  const indexAt = (ms: number): number =>
    Math.max(0, Math.min(steps + 1, Math.ceil((ms - (times[0] ?? toMs)) / stepMs)));

  const changes = new Map<string, RecordedChange[]>();
  for (const change of recording.changes) {
    const known = changes.get(change.key);
    if (known) known.push(change);
    else changes.set(change.key, [change]);
  }
  const present = presentOf(options.tables);
  const deltas: Record<Counted, number[]> = {
    claims: zeros(steps + 2),
    bound: zeros(steps + 2),
    pods: zeros(steps + 2),
    running: zeros(steps + 2),
    attached: zeros(steps + 2),
  };
  const count = (what: Counted, from: number, to: number): void => {
    const of = deltas[what];
    of[from] = (of[from] ?? 0) + 1;
    of[to] = (of[to] ?? 0) - 1;
  };
  for (const key of new Set([...present.keys(), ...changes.keys()])) {
    for (const { startMs, endMs, phase } of livesOf(changes.get(key) ?? [], present.get(key))) {
      const [from, to] = [indexAt(startMs), indexAt(endMs)];
      for (const what of countedAs(key, phase)) count(what, from, to);
    }
  }

  const counters = times.map(() => new CallCounter());
  for (const call of recording.calls) counters[indexAt(call.atMs)]?.add(call);
  const sums: Record<Counted, number> = { claims: 0, bound: 0, pods: 0, running: 0, attached: 0 };
  return times.map((atMs, index) => {
    for (const what of Object.keys(sums) as Counted[]) sums[what] += deltas[what][index] ?? 0;
    // Calls before the first sample have no interval that they could be divided by.
    const calls = counters[index]?.take() ?? [];
    return { atMs, ...sums, calls: index === 0 ? [] : calls };
  });
}

const zeros = (length: number): number[] => new Array<number>(length).fill(0);

/** Phase by key. */
function presentOf({ volumes, pods }: HistoryOptions['tables']): Map<string, string> {
  const present = new Map<string, string>();
  for (const row of volumes) {
    if (row.subject === 'claim') present.set(`claim ${row.namespace}/${row.name}`, row.phase);
    for (const { name, attached } of row.attachments) present.set(`attachment ${name}`, String(attached));
  }
  for (const { namespace, name, phase } of pods) present.set(`pod ${namespace}/${name}`, phase);
  return present;
}

interface Life {
  readonly startMs: number;
  readonly endMs: number;
  readonly phase: string | undefined;
}

/** The times in which an object was there, one for each phase. */
function livesOf(changes: readonly RecordedChange[], present: string | undefined): Life[] {
  const [first] = changes;
  if (first === undefined) return present === undefined ? [] : [{ ...always, phase: present }];
  // A record without phases, as one of an earlier version: then the present one.
  const known = changes.find(({ phase }) => phase !== undefined)?.phase ?? present;
  const lives: Life[] = [];
  let startMs = first.verb === 'created' ? undefined : Number.NEGATIVE_INFINITY;
  let phase: string | undefined = first.verb === 'created' ? undefined : known;
  for (const change of changes) {
    if (startMs !== undefined) lives.push({ startMs, endMs: change.atMs, phase });
    startMs = change.verb === 'deleted' ? undefined : change.atMs;
    phase = change.phase ?? phase;
  }
  if (startMs !== undefined && present !== undefined) {
    lives.push({ startMs, endMs: Number.POSITIVE_INFINITY, phase: present });
  }
  return lives;
}

const always = { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY };

function countedAs(key: string, phase: string | undefined): Counted[] {
  const [kind] = key.split(' ', 1);
  if (kind === 'claim') return phase === 'Bound' ? ['claims', 'bound'] : ['claims'];
  if (kind === 'pod') return phase === 'Running' ? ['pods', 'running'] : ['pods'];
  return phase === 'true' ? ['attached'] : [];
}
