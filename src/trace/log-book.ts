// Keeps the last log lines of all parts, also those that the console leaves out, and streams new ones. Lines have passed through
// `loggable`, so none holds a secret.

import { type LogLine, logTo } from '../runtime/log/log.ts';
import type { Clock, Log } from '../runtime/ports.ts';

/** Lines of this verbosity and above are for debugging a part and too costly to keep. */
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
