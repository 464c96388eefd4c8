// A flag's declaration. A table of them, keyed by the official spelling, declares a command line. The factories below are
// the flag types. parse-flags.ts reads arguments and environment.
import { formatDuration, parseDuration } from './duration.ts';

/** One flag. `T` is what its user gets. */
export interface Flag<T> {
  /** Placeholder of the value in the help text: `duration`, `int`, `string`, … */
  readonly type: string;
  /** `--flag` alone means `--flag=true`, and the next argument is not its value. */
  readonly isBoolean: boolean;
  /** Appended to the value's key: `timeout` is read as `timeoutMs`. */
  readonly unit: string;
  readonly default: T;
  readonly required: boolean;
  readonly help: string;
  /** Heading in the help text. */
  readonly group: string;
  /** Environment variable that is read when the flag is not given. */
  readonly env: string | undefined;
  /** What to use instead; printed when the flag is given. */
  readonly deprecated: string | undefined;
  /** Why the flag has no effect; printed when the flag is given. */
  readonly ignored: string | undefined;
  readonly hidden: boolean;
  /** Throws `InvalidValue`. `previous` is the value of an earlier occurrence, for flags that accumulate. */
  parse(text: string, previous: T | undefined): T;
  /** The text that `parse` would turn into `value`. */
  format(value: T): string;
}

/** A table of flags. `any`: each flag has its own value type, and `parse` takes what `parse` gave. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type FlagTable = Readonly<Record<string, Flag<any>>>;

/** Thrown by `Flag.parse`; the parser adds which flag it was. The message continues "…: ". */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
}

export interface FlagOptions<T> {
  help: string;
  default?: T;
  required?: boolean;
  group?: string;
  env?: string;
  deprecated?: string;
  ignored?: string;
  hidden?: boolean;
}

/** A flag with a default, or a required one, always has a value. */
type Always<T> = FlagOptions<T> & ({ default: T } | { required: true });

export interface Shape<T> {
  type: string;
  isBoolean?: boolean;
  unit?: string;
  parse(text: string, previous: T | undefined): T;
  format(value: T): string;
}

/** For a custom flag type. */
export function flagOf<T>(shape: Shape<T>, options: FlagOptions<T>): Flag<T> {
  return {
    type: shape.type,
    isBoolean: shape.isBoolean ?? false,
    unit: shape.unit ?? '',
    // Optional flags without a default are typed `T | undefined` by the factories' overloads.
    default: options.default as T,
    required: options.required ?? false,
    help: options.help,
    group: options.group ?? '',
    env: options.env,
    deprecated: options.deprecated,
    ignored: options.ignored,
    hidden: options.hidden ?? false,
    parse: shape.parse,
    format: shape.format,
  };
}

/** The flags under a heading of their own in the help text. */
export function inGroup<T extends FlagTable>(group: string, flags: T): T {
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, group }])) as T;
}

interface TextRule {
  /** The empty text is rejected. */
  nonEmpty?: boolean;
}

export function stringFlag(options: Always<string> & TextRule): Flag<string>;
export function stringFlag(options: FlagOptions<string> & TextRule): Flag<string | undefined>;
export function stringFlag(options: FlagOptions<string> & TextRule): Flag<string | undefined> {
  const parse = (text: string): string => {
    if (text === '' && options.nonEmpty) throw new InvalidValue('must not be empty');
    return text;
  };
  return flagOf<string>({ type: 'string', parse, format: (value) => value }, options);
}

/** One of a closed list of texts. */
export function choiceFlag<const C extends string>(
  options: FlagOptions<NoInfer<C>> & { choices: readonly C[]; default: NoInfer<C> },
): Flag<C> {
  const parse = (text: string): C => {
    const choice = options.choices.find((candidate) => candidate === text);
    if (choice === undefined) throw new InvalidValue(`must be one of ${options.choices.join(', ')}`);
    return choice;
  };
  return flagOf<C>({ type: options.choices.join('|'), parse, format: (value) => value }, options);
}

export function boolFlag(options: FlagOptions<boolean>): Flag<boolean> {
  const parse = (text: string): boolean => {
    // What Go's strconv.ParseBool takes.
    if (/^(?:1|t|T|true|TRUE|True)$/.test(text)) return true;
    if (/^(?:0|f|F|false|FALSE|False)$/.test(text)) return false;
    throw new InvalidValue('must be true or false');
  };
  return flagOf<boolean>(
    { type: 'bool', isBoolean: true, parse, format: String },
    { ...options, default: options.default ?? false },
  );
}

interface Bounds {
  min?: number;
  max?: number;
}

function withinBounds(value: number, bounds: Bounds, show: (value: number) => string): number {
  if (bounds.min !== undefined && value < bounds.min) {
    throw new InvalidValue(`must be at least ${show(bounds.min)}`);
  }
  if (bounds.max !== undefined && value > bounds.max) {
    throw new InvalidValue(`must be at most ${show(bounds.max)}`);
  }
  return value;
}

export function intFlag(options: Always<number> & Bounds): Flag<number>;
export function intFlag(options: FlagOptions<number> & Bounds): Flag<number | undefined>;
export function intFlag(options: FlagOptions<number> & Bounds): Flag<number | undefined> {
  const parse = (text: string): number => {
    const value = Number(text);
    if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value)) {
      throw new InvalidValue('must be a whole number');
    }
    return withinBounds(value, options, String);
  };
  return flagOf<number>({ type: 'int', parse, format: String }, options);
}

export function floatFlag(options: Always<number> & Bounds): Flag<number>;
export function floatFlag(options: FlagOptions<number> & Bounds): Flag<number | undefined>;
export function floatFlag(options: FlagOptions<number> & Bounds): Flag<number | undefined> {
  const parse = (text: string): number => {
    if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) || !Number.isFinite(Number(text))) {
      throw new InvalidValue('must be a number');
    }
    return withinBounds(Number(text), options, String);
  };
  return flagOf<number>({ type: 'float', parse, format: String }, options);
}

/** Milliseconds; read as `<name>Ms`. `min` is 0 unless given. */
export type DurationFlag<T> = Flag<T> & { readonly unit: 'Ms' };
export function durationFlag(options: Always<number> & Bounds): DurationFlag<number>;
export function durationFlag(options: FlagOptions<number> & Bounds): DurationFlag<number | undefined>;
export function durationFlag(options: FlagOptions<number> & Bounds): DurationFlag<number | undefined> {
  const parse = (text: string): number => {
    const value = parseDuration(text);
    if (value === undefined) throw new InvalidValue('must be a duration with a unit, such as 15s or 1m30s');
    return withinBounds(value, { min: 0, ...options }, formatDuration);
  };
  const flag = flagOf<number>({ type: 'duration', unit: 'Ms', parse, format: formatDuration }, options);
  return flag as DurationFlag<number>;
}

/** `--flag=a,b --flag=c` is `[a, b, c]`. */
export function stringsFlag(options: FlagOptions<readonly string[]>): Flag<readonly string[]> {
  const parse = (text: string, previous: readonly string[] | undefined): readonly string[] => [
    ...(previous ?? []),
    ...(text === '' ? [] : text.split(',')),
  ];
  return flagOf<readonly string[]>(
    { type: 'strings', parse, format: (value) => value.join(',') },
    { ...options, default: options.default ?? [] },
  );
}

export type StringMap = Readonly<Record<string, string>>;

/** `--flag=a=1,b=2`; `separator` is between key and value, `=` unless given. Occurrences accumulate. */
export function mapFlag(options: FlagOptions<StringMap> & { separator?: '=' | ':' }): Flag<StringMap> {
  const separator = options.separator ?? '=';
  const parse = (text: string, previous: StringMap | undefined): StringMap => ({
    ...previous,
    ...Object.fromEntries(pairs(text, separator)),
  });
  const format = (value: StringMap): string =>
    Object.entries(value)
      .map(([key, item]) => `${key}${separator}${item}`)
      .join(',');
  return flagOf<StringMap>(
    { type: `key${separator}value,…`, parse, format },
    { ...options, default: options.default ?? {} },
  );
}

export function pairs(text: string, separator: string): [string, string][] {
  if (text === '') return [];
  return text.split(',').map((pair) => {
    const at = pair.indexOf(separator);
    if (at < 1) throw new InvalidValue(`"${pair}" is not of the form key${separator}value`);
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
}
