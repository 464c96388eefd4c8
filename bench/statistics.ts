// Median and spread of a few rounds, and the table that shows them.
import type { Measured } from './harness.ts';

export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** Half the range (maximum − minimum), relative to the median: ±. */
  readonly spread: number;
}

export function summarize(values: readonly number[]): Summary {
  if (values.length === 0) throw new RangeError('there are no values to summarize');
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] as number;
  const middle = (sorted.length - 1) / 2;
  const median = (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2;
  const [min, max] = [at(0), at(sorted.length - 1)];
  return { median, min, max, spread: median === 0 ? 0 : (max - min) / 2 / Math.abs(median) };
}

export interface Report {
  readonly baseline: string;
  readonly candidates: Readonly<Record<string, Readonly<Record<string, Summary>>>>;
  /** Each candidate's median divided by the baseline's, where both have the figure. */
  readonly ratios: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export function report(measured: Measured, preferredBaseline?: string): Report {
  const names = Object.keys(measured.candidates);
  const baseline = names.find((name) => name === preferredBaseline) ?? names[0] ?? '';
  const candidates = mapValues(measured.candidates, (figures) => mapValues(figures, summarize));
  const ratios = mapValues(candidates, (figures) =>
    Object.fromEntries(
      Object.entries(figures).flatMap(([figure, { median }]) => {
        const base = candidates[baseline]?.[figure]?.median;
        return base ? [[figure, median / base]] : [];
      }),
    ),
  );
  return { baseline, candidates, ratios };
}

function mapValues<V, W>(record: Readonly<Record<string, V>>, map: (value: V) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** One row per figure, one column per candidate. */
export function table({ baseline, candidates, ratios }: Report): string {
  const names = Object.keys(candidates);
  const figures = [...new Set(names.flatMap((name) => Object.keys(candidates[name] ?? {})))];
  const cell = (name: string, figure: string): string => {
    const summary = candidates[name]?.[figure];
    if (summary === undefined) return '–';
    const ratio = ratios[name]?.[figure];
    const compared = name === baseline || ratio === undefined ? '' : ` (${ratio.toFixed(2)}×)`;
    return `${number(summary.median)} ±${Math.round(summary.spread * 100)}%${compared}`;
  };
  const rows = [
    ['', ...names],
    ...figures.map((figure) => [figure, ...names.map((name) => cell(name, figure))]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]): string =>
    row.map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join('  ');
  return `${rows.map((row) => line(row).trimEnd()).join('\n')}\n`;
}

/** Three or more significant digits, never an exponent. */
function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = value === 0 ? 0 : Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toLocaleString('en-US', { maximumFractionDigits: digits, minimumFractionDigits: digits });
}
