// Parses arguments into typed values by a table of declarations, as Go programs do: `--flag=value`,
// `--flag value`, one dash or two, `--bool`, `--bool=false`, `--` ends the flags. Pure: the environment is an argument.
import { type DurationFlag, type Flag, type FlagTable, InvalidValue } from './flag.ts';

type CamelCase<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;
type KeyOf<K extends string, F> = F extends DurationFlag<unknown> ? `${CamelCase<K>}Ms` : CamelCase<K>;

/** The values, by camel-case name, durations with `Ms`: `worker-threads` is `workerThreads`, `timeout` `timeoutMs`. */
export type FlagValues<T extends FlagTable> = {
  readonly [K in keyof T & string as KeyOf<K, T[K]>]: T[K] extends Flag<infer V> ? V : never;
};

export interface ParsedFlags<T extends FlagTable> {
  readonly values: FlagValues<T>;
  /** Names, as declared, of the flags that were given as arguments or through the environment. */
  readonly given: ReadonlySet<string>;
  /** Positional arguments, in order. */
  readonly args: readonly string[];
  /** Notes for the user: deprecated flags, flags without effect. */
  readonly notes: readonly string[];
}

/** The user's mistake, in one sentence. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
}

export interface ParseFlagsOptions<T extends FlagTable> {
  table: T;
  argv: readonly string[];
  /** Read for flags that declare a variable. Nothing is read from the process itself. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Stop at the first positional argument and keep the rest as it is: for `command …its own flags…`. */
  stopAtFirstArgument?: boolean;
}

export function parseFlags<T extends FlagTable>(options: ParseFlagsOptions<T>): ParsedFlags<T> {
  const { table } = options;
  const { occurrences, args } = split(options);
  const values = new Map<string, unknown>();
  for (const { name, text, source } of [...occurrences, ...fromEnvironment(options, occurrences)]) {
    values.set(
      name,
      parseOne({ flag: table[name] as Flag<unknown>, text, source, previous: values.get(name) }),
    );
  }
  const missing = Object.keys(table).filter((name) => table[name]?.required && !values.has(name));
  if (missing.length > 0) {
    throw new FlagError(`${missing.map((name) => dashed(name)).join(', ')} must be given`);
  }
  const entries = Object.entries(table).map(([name, flag]) => [
    valueKey(name, flag),
    values.has(name) ? values.get(name) : flag.default,
  ]);
  return {
    // The keys are built from the same table and by the same rule as the type.
    values: Object.fromEntries(entries) as FlagValues<T>,
    given: new Set(values.keys()),
    args,
    notes: [...values.keys()].flatMap((name) => notesOf(name, table[name] as Flag<unknown>)),
  };
}

interface Occurrence {
  name: string;
  text: string;
  /** How to call it in an error. */
  source: string;
}

function split<T extends FlagTable>(
  options: ParseFlagsOptions<T>,
): { occurrences: Occurrence[]; args: string[] } {
  const { table, argv } = options;
  const occurrences: Occurrence[] = [];
  const args: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] as string;
    if (argument === '--') return { occurrences, args: [...args, ...argv.slice(i + 1)] };
    const match = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(argument);
    if (match === null) {
      if (argument.startsWith('-') && argument !== '-') throw new FlagError(`"${argument}" is not a flag`);
      if (options.stopAtFirstArgument) return { occurrences, args: argv.slice(i) };
      args.push(argument);
      continue;
    }
    // Kubernetes takes `_` for `-` in flag names; klog's own are documented with underscores.
    const name = (match[1] as string).replaceAll('_', '-');
    const flag = Object.hasOwn(table, name) ? table[name] : undefined;
    if (flag === undefined) throw unknownFlag(name, table);
    let text = match[2];
    if (text === undefined && flag.isBoolean) text = 'true';
    if (text === undefined) {
      i += 1;
      text = argv[i];
      if (text === undefined) throw new FlagError(`${dashed(name)} needs a value (${flag.type})`);
    }
    occurrences.push({ name, text, source: dashed(name) });
  }
  return { occurrences, args };
}

function fromEnvironment<T extends FlagTable>(
  { table, env = {} }: ParseFlagsOptions<T>,
  occurrences: readonly Occurrence[],
): Occurrence[] {
  return Object.entries(table).flatMap(([name, flag]) => {
    const text = flag.env === undefined ? undefined : env[flag.env];
    // An empty variable is how a manifest says "not set".
    if (!text || occurrences.some((occurrence) => occurrence.name === name)) return [];
    return [{ name, text, source: `${dashed(name)} (from ${flag.env})` }];
  });
}

function parseOne(given: { flag: Flag<unknown>; text: string; source: string; previous: unknown }): unknown {
  try {
    return given.flag.parse(given.text, given.previous);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    throw new FlagError(`${given.source}: ${error.message}, got "${given.text}"`);
  }
}

function notesOf(name: string, flag: Flag<unknown>): string[] {
  const notes: string[] = [];
  if (flag.deprecated !== undefined) notes.push(`${dashed(name)} is deprecated: ${flag.deprecated}`);
  if (flag.ignored !== undefined)
    notes.push(`${dashed(name)} is accepted and has no effect: ${flag.ignored}`);
  return notes;
}

/** The key of a flag among the values: `worker-threads` is `workerThreads`, a duration `timeout` is `timeoutMs`. */
export function valueKey(name: string, flag: Flag<unknown>): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase()) + flag.unit;
}

/** As the help text spells it: one letter with one dash. */
export function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

function unknownFlag(name: string, table: FlagTable): FlagError {
  const nearest = nearestOf(name, Object.keys(table));
  const hint = nearest === undefined ? 'see --help' : `did you mean ${dashed(nearest)}?`;
  return new FlagError(`unknown flag ${dashed(name)}; ${hint}`);
}

/** The closest candidate, if `name` may be a misspelling of it. */
export function nearestOf(name: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(name, candidate);
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Levenshtein's distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[j] as number) + 1, (current[j - 1] as number) + 1));
    }
    previous = current;
  }
  return previous[b.length] as number;
}
