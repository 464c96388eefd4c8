// The lines of the charts, from samples. Pure.

import type { CallFigures, Sample } from '../../page-messages.ts';

export interface ChartLine {
  readonly label: string;
  /** `null`: nothing is known of that moment. */
  readonly values: readonly (number | null)[];
}

export interface ChartLines {
  /** Seconds, as the charts' axis has them. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
}

/** More lines than these and none can be followed. */
const NAMED_METHODS = 5;
const OTHERS = 'others';
/** The line of calls that failed, of whatever method. */
export const FAILED = 'failed';

/** Samples are taken while somebody looks: what was between two that are this far apart is not known. */
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

/** The most called methods, by name: a line keeps its colour while others overtake it. */
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

/** The others' median is that of their medians, each weighed by its calls: near it, since no more is told. */
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

/** A moment of which nothing is known, so that no line is drawn over it. */
function withGaps({ times, lines }: ChartLines): ChartLines {
  const gaps = times.flatMap((time, index) =>
    time - (times[index - 1] ?? time) > GAP_SECONDS ? [index] : [],
  );
  if (gaps.length === 0) return { times, lines };
  const opened = <V>(values: readonly V[], between: (index: number) => V): V[] =>
    values.flatMap((value, index) => (gaps.includes(index) ? [between(index), value] : [value]));
  return {
    times: opened(times, (index) => ((times[index - 1] ?? 0) + (times[index] ?? 0)) / 2),
    lines: lines.map(({ label, values }) => ({ label, values: opened<number | null>(values, () => null) })),
  };
}

const timesOf = (samples: readonly Sample[]): number[] => samples.map(({ atMs }) => atMs / 1000);

/** Samples come once a second, but not to the millisecond; the first has none before it. */
function secondsBefore(samples: readonly Sample[], index: number): number {
  const [before, now] = [samples[index - 1], samples[index]];
  if (before === undefined || now === undefined || now.atMs <= before.atMs) return 1;
  return (now.atMs - before.atMs) / 1000;
}
