// Keeps the last lines that the parts of a cluster logged, also those that its own log leaves out, and hands new ones to
// those who follow. Lines pass through `loggable` before they come here: none can hold a secret.

import { type LogLine, logTo } from '../../runtime/log/log.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { oncePerLevel } from './once-per-level.ts';

/** What is told only from here up is for whoever debugs a part itself, and costs too much to keep always. */
const VERBOSITY = 2;
const LONGEST = 2_000;

export interface KeptLine extends LogLine {
  atMs: number;
}

export class LogBook {
  readonly #clock: Clock;
  readonly #listeners = new Set<(line: KeptLine) => void>();
  #lines: KeptLine[] = [];
  readonly log: Log;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.log = logTo((line) => this.#keep(line), VERBOSITY, {});
  }

  lines(): readonly KeptLine[] {
    return this.#lines.slice(-LONGEST);
  }

  follow(listener: (line: KeptLine) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #keep(line: LogLine): void {
    const kept = { ...line, atMs: this.#clock.now() };
    this.#lines.push(kept);
    // Dropped in large steps: dropping one on each line would move the whole list.
    if (this.#lines.length >= 2 * LONGEST) this.#lines = this.#lines.slice(-LONGEST);
    for (const listener of this.#listeners) listener(kept);
  }
}

/** A log whose lines go to both. */
export function bothLogs(first: Log, second: Log): Log {
  return {
    info(message, fields) {
      first.info(message, fields);
      second.info(message, fields);
    },
    warn(message, fields) {
      first.warn(message, fields);
      second.warn(message, fields);
    },
    error(message, error, fields) {
      first.error(message, error, fields);
      second.error(message, error, fields);
    },
    v: oncePerLevel((level) => {
      const [one, other] = [first.v(level), second.v(level)];
      if (!other.enabled) return one;
      if (!one.enabled) return other;
      return {
        enabled: true,
        info(message, fields) {
          one.info(message, fields);
          other.info(message, fields);
        },
      };
    }),
    with: (fields) => bothLogs(first.with(fields), second.with(fields)),
  };
}
