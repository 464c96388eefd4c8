// The log of a process: JSON lines, or readable lines on a terminal; and an in-memory log for tests and the simulation. All
// fields pass through `loggable`, so no log can show a secret.

import type { Clock, Log, LogFields } from '../ports.ts';
import { loggable } from './loggable.ts';
import { printableLine } from './printable.ts';

export type LogLevel = 'info' | 'warn' | 'error';

export interface LogLine {
  level: LogLevel;
  /** klog's verbosity; 0 for lines that are always shown. */
  v: number;
  message: string;
  /** Safe to write: already passed through `loggable`. */
  fields: LogFields;
}

export interface LogOptions {
  /** klog's `-v`; 0 unless given. */
  verbosity?: number;
  /** Standard error unless given. */
  stream?: { write(text: string): unknown; isTTY?: boolean };
  /** `text` on a terminal, `json` elsewhere, unless given. */
  format?: 'json' | 'text';
  clock: Pick<Clock, 'now'>;
  /** On each line. */
  fields?: LogFields;
}

export function createLog(options: LogOptions): Log {
  const stream = options.stream ?? process.stderr;
  const format = options.format ?? (stream.isTTY ? 'text' : 'json');
  const lineOf = format === 'text' ? textLine : jsonLine;
  // To standard error it is synchronous: the last lines before a crash are the ones that matter.
  const write = (line: LogLine): void =>
    void stream.write(`${lineOf(line, new Date(options.clock.now()))}\n`);
  return logTo(write, options.verbosity ?? 0, options.fields ?? {});
}

export interface MemoryLog extends Log {
  readonly lines: readonly LogLine[];
  /** Everything as text, for searching. */
  text(): string;
  clear(): void;
}

/** Keeps the last `limit` lines. */
export function memoryLog(options: { verbosity?: number; limit?: number } = {}): MemoryLog {
  const { verbosity = 10, limit = 10_000 } = options;
  const lines: LogLine[] = [];
  const log = logTo(
    (line) => {
      lines.push(line);
      // In large steps: shifting on each line would move the whole array.
      if (lines.length >= 2 * limit) lines.splice(0, lines.length - limit);
    },
    verbosity,
    {},
  );
  return {
    ...log,
    lines,
    text: () => lines.map((line) => `${line.level} ${textOf(line)}`).join('\n'),
    clear: () => {
      lines.length = 0;
    },
  };
}

export const silentLog: Log = logTo(() => {}, -1, {});

/** A log with its own output: each line goes to `write`. */
export function logTo(write: (line: LogLine) => void, verbosity: number, base: LogFields): Log {
  const emit = (level: LogLevel, v: number, message: string, fields?: LogFields) => {
    const own = fields === undefined ? base : { ...base, ...(loggable(fields) as LogFields) };
    write({ level, v, message, fields: own });
  };
  const muted = { enabled: false, info: () => {} };
  return {
    info: (message, fields) => emit('info', 0, message, fields),
    warn: (message, fields) => emit('warn', 0, message, fields),
    error: (message, error, fields) => emit('error', 0, message, { ...fields, err: error }),
    v: (level) =>
      level > verbosity
        ? muted
        : { enabled: true, info: (message, fields) => emit('info', level, message, fields) },
    with: (fields) => logTo(write, verbosity, { ...base, ...(loggable(fields) as LogFields) }),
  };
}

function jsonLine({ level, v, message, fields }: LogLine, time: Date): string {
  return printableLine(JSON.stringify({ level, time, ...(v > 0 && { v }), ...fields, msg: message }));
}

function textLine(line: LogLine, time: Date): string {
  return `${time.toISOString().slice(11, 23)} ${line.level.toUpperCase().padEnd(5)} ${textOf(line)}`;
}

/** Message and fields in one line that a terminal can be given. */
export function textOf({ message, fields }: LogLine): string {
  const parts = Object.entries(fields).map(([key, value]) => `${key}=${fieldText(key, value)}`);
  return printableLine([message, ...parts].join(' '));
}

function fieldText(key: string, value: unknown): string {
  if (typeof value === 'string') return /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
  if (key === 'err' && typeof value === 'object' && value !== null) return JSON.stringify(errorText(value));
  // Not imported: an ESM import of `util` loads worker threads and more, 3 MB.
  const { inspect } = process.getBuiltinModule('node:util');
  return inspect(value, { breakLength: Number.POSITIVE_INFINITY, compact: true, depth: 10 });
}

/** The message and those of its causes; stacks are for the JSON form. */
function errorText(error: object): string {
  const { message, cause } = error as { message?: unknown; cause?: unknown };
  const own = typeof message === 'string' ? message : JSON.stringify(error);
  return typeof cause === 'object' && cause !== null ? `${own}: ${errorText(cause)}` : own;
}
