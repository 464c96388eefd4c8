// The series of the charts, computed from samples. Pure.

import type { CallFigures, Sample } from '../../page-messages.ts';

export interface ChartLine {
  readonly label: string;
  /** `null`: no data at that time. */
  readonly values: readonly (number | null)[];
}

export interface ChartLines {
  /** Seconds, the unit of the charts' axis. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
}

/** More series than these cannot be told apart. */
const NAMED_METHODS = 5;
const OTHERS = 'others';
/** The series of failed calls, of all methods. */
export const FAILED = 'failed';

/** Without a recording, samples are taken only while a page is open: a gap this long between two has no data. */
const GAP_SECONDS = 5;

export function standLines(
  samples: readonly Sample[],
  labels: Partial<Record<keyof Omit<Sample, 'calls'>, string>>,
): ChartLines {
  const keys = Object.keys(labels) as (keyof typeof labels)[];
  return withGaps({
    times: timesOf(samples),
    lines: keys.map((key) => ({ label: labels[key] ?? key, values: samples.map((sample) => sample[key]) })),
  });
}

/** The most called methods, sorted by name, so that a series keeps its colour when the order of calls changes. */
export function busiestMethods(samples: readonly Sample[]): readonly string[] {
  const totals = new Map<string, number>();
  for (const { method, count } of samples.flatMap(({ calls = [] }) => calls)) {
    totals.set(method, (totals.get(method) ?? 0) + count);
  }
  return [...totals]
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .slice(0, NAMED_METHODS)
    .map(([method]) => method)
    .sort();
}

export function callLines(samples: readonly Sample[]): ChartLines {
  const perSecond = (figures: readonly CallFigures[], seconds: number, of: 'count' | 'failed'): number =>
    figures.reduce((sum, each) => sum + each[of], 0) / seconds;
  const { times, lines } = linesByMethod(samples, (figures, seconds) => perSecond(figures, seconds, 'count'));
  const failed = samples.map(({ calls = [] }, index) =>
    perSecond(calls, secondsBefore(samples, index), 'failed'),
  );
  const hasFailures = failed.some((value) => value > 0);
  return withGaps({ times, lines: hasFailures ? [...lines, { label: FAILED, values: failed }] : lines });
}

/** The median of the other methods is approximated: the median of their medians, weighted by calls. */
export function medianLines(samples: readonly Sample[]): ChartLines {
  return withGaps(linesByMethod(samples, (figures) => weighedMedian(figures)));
}

export function worstLines(samples: readonly Sample[]): ChartLines {
  return withGaps(
    linesByMethod(samples, (figures) =>
      figures.length === 0 ? null : Math.max(...figures.map(({ worstMs }) => worstMs)),
    ),
  );
}

function linesByMethod(
  samples: readonly Sample[],
  reckon: (figures: readonly CallFigures[], seconds: number) => number | null,
): ChartLines {
  const named = busiestMethods(samples);
  const isOther = ({ method }: CallFigures): boolean => !named.includes(method);
  const lineOf = (label: string, belongs: (figures: CallFigures) => boolean): ChartLine => ({
    label,
    values: samples.map(({ calls = [] }, index) =>
      reckon(
        calls.filter((each) => each.count > 0 && belongs(each)),
        secondsBefore(samples, index),
      ),
    ),
  });
  const lines = named.map((name) => lineOf(name, ({ method }) => method === name));
  const hasOthers = samples.some(({ calls = [] }) => calls.some(isOther));
  return { times: timesOf(samples), lines: hasOthers ? [...lines, lineOf(OTHERS, isOther)] : lines };
}

function weighedMedian(figures: readonly CallFigures[]): number | null {
  const total = figures.reduce((sum, { count }) => sum + count, 0);
  let seen = 0;
  for (const { medianMs, count } of figures.toSorted((a, b) => a.medianMs - b.medianMs)) {
    seen += count;
    if (seen * 2 >= total) return medianMs;
  }
  return null;
}

/** A point without data, so that no line is drawn across the gap. */
function withGaps({ times, lines }: ChartLines): ChartLines {
  const intervals = times.slice(1).map((time, index) => time - (times[index] ?? time));
  // Samples of a long time are further apart.
  const longest = Math.max(GAP_SECONDS, 2 * Math.min(...intervals));
  const gaps = intervals.flatMap((seconds, index) => (seconds > longest ? [index + 1] : []));
  if (gaps.length === 0) return { times, lines };
  const opened = <V>(values: readonly V[], between: (index: number) => V): V[] =>
    values.flatMap((value, index) => (gaps.includes(index) ? [between(index), value] : [value]));
  return {
    times: opened(times, (index) => ((times[index - 1] ?? 0) + (times[index] ?? 0)) / 2),
    lines: lines.map(({ label, values }) => ({ label, values: opened<number | null>(values, () => null) })),
  };
}

const timesOf = (samples: readonly Sample[]): number[] => samples.map(({ atMs }) => atMs / 1000);

/** The interval between samples, about a second; the first has no predecessor. */
function secondsBefore(samples: readonly Sample[], index: number): number {
  const [before, now] = [samples[index - 1], samples[index]];
  if (before === undefined || now === undefined || now.atMs <= before.atMs) return 1;
  return (now.atMs - before.atMs) / 1000;
}
