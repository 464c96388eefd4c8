// Keeps the last lines that the parts of a cluster logged, also those that its own log leaves out, and hands new ones to
// those who follow. Lines pass through `loggable` before they come here: none can hold a secret.

import { type LogLine, logTo } from '../runtime/log/log.ts';
import type { Clock, Log } from '../runtime/ports.ts';

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
