// Counters, gauges and histograms in Prometheus' text format. A family is one metric name with its label names, a series one
// combination of label values. Text is produced when scraped.

export type Labels<L extends string> = Partial<Record<L, string>>;

/** The series of a metric by its labels; a metric without labels is its own series. */
export type Amount<L extends string> = [labels: Labels<L>, value: number] | [value: number];

export interface FamilyInit {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

abstract class Family<L extends string, Series> {
  readonly #init: FamilyInit;
  readonly #type: string;
  readonly #series = new Map<string, { labels: Labels<L>; series: Series }>();

  constructor(type: string, init: FamilyInit) {
    this.#type = type;
    this.#init = init;
  }

  /** The series of these label values; callers that count often should keep it. */
  labels(labels: Labels<L>): Series {
    const { labelNames } = this.#init;
    // Most have one label, whose value is the key as it is.
    let key = labels[labelNames[0] as L] ?? '';
    for (let i = 1; i < labelNames.length; i++) key += `\u0000${labels[labelNames[i] as L] ?? ''}`;
    const known = this.#series.get(key);
    if (known !== undefined) return known.series;
    const series = this.create();
    this.#series.set(key, { labels, series });
    return series;
  }

  clear(): void {
    this.#series.clear();
  }

  text(): string {
    const { name, help, labelNames } = this.#init;
    // Without labels there is one series, which exists from the start.
    if (labelNames.length === 0) this.labels({});
    let text = `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${this.#type}\n`;
    for (const { labels, series } of this.#series.values()) text += this.lines(name, labels, series);
    return text;
  }

  protected abstract create(): Series;
  protected abstract lines(name: string, labels: Labels<L>, series: Series): string;
}

export class Count {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }
}

class Level extends Count {
  dec(by = 1): void {
    this.value -= by;
  }

  set(value: number): void {
    this.value = value;
  }
}

export class Counter<L extends string = string> extends Family<L, Count> {
  constructor(init: FamilyInit) {
    super('counter', init);
  }

  inc(...by: Amount<L> | [labels?: Labels<L>]): void;
  inc(first: Labels<L> | number = {}, second = 1): void {
    if (typeof first === 'number') this.labels({}).inc(first);
    else this.labels(first).inc(second);
  }

  protected create(): Count {
    return new Count();
  }

  protected lines(name: string, labels: Labels<L>, { value }: Count): string {
    return line(name, labels, value);
  }
}

export class Gauge<L extends string = string> extends Family<L, Level> {
  constructor(init: FamilyInit) {
    super('gauge', init);
  }

  inc(...by: Amount<L> | [labels?: Labels<L>]): void;
  inc(first: Labels<L> | number = {}, second = 1): void {
    if (typeof first === 'number') this.labels({}).inc(first);
    else this.labels(first).inc(second);
  }

  set(...to: Amount<L>): void;
  set(first: Labels<L> | number, second = 0): void {
    if (typeof first === 'number') this.labels({}).set(first);
    else this.labels(first).set(second);
  }

  protected create(): Level {
    return new Level();
  }

  protected lines(name: string, labels: Labels<L>, { value }: Level): string {
    return line(name, labels, value);
  }
}

export class Distribution {
  readonly bounds: readonly number[];
  /** Counts per bucket, not cumulative. */
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.count++;
    this.sum += value;
    const index = this.bounds.findIndex((bound) => value <= bound);
    if (index >= 0) this.counts[index] = (this.counts[index] ?? 0) + 1;
  }
}

export class Histogram<L extends string = string> extends Family<L, Distribution> {
  readonly #bounds: readonly number[];

  constructor(init: FamilyInit, bounds: readonly number[]) {
    super('histogram', init);
    this.#bounds = bounds;
  }

  observe(...what: Amount<L>): void;
  observe(first: Labels<L> | number, second = 0): void {
    if (typeof first === 'number') this.labels({}).observe(first);
    else this.labels(first).observe(second);
  }

  protected create(): Distribution {
    return new Distribution(this.#bounds);
  }

  protected lines(name: string, labels: Labels<L>, { bounds, counts, count, sum }: Distribution): string {
    let below = 0;
    let text = '';
    for (const [index, bound] of bounds.entries()) {
      below += counts[index] ?? 0;
      text += line(`${name}_bucket`, { le: String(bound), ...labels }, below);
    }
    text += line(`${name}_bucket`, { le: '+Inf', ...labels }, count);
    return text + line(`${name}_sum`, labels, sum) + line(`${name}_count`, labels, count);
  }
}

function line(name: string, labels: Labels<string>, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`);
  const number = Number.isFinite(value) ? value : Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${number}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
