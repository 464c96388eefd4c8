// Streams changed rows to open pages; idle when no page is open. Rows are recomputed at most four times a second, and less often
// the longer that takes.

import type { Clock, Log, Timer } from '../runtime/ports.ts';
import { CallCounter } from './call-figures.ts';
import { historyOf } from './history.ts';
import type { Observed } from './observed.ts';
import type { About, Message, Sample, Step, Tables } from './page-messages.ts';
import type { StepSource } from './step-source.ts';
import { changesBetween, sampleOf, tablesOf } from './tables.ts';

const PAUSE_MS = 250;
/** The share of time that computing rows may take. */
const MOST_BUSY = 0.1;
const SAMPLE_MS = 1_000;
/** Rows are also recomputed at this interval: they name durations, and a lease that is not renewed is no event. */
const SAMPLES_BETWEEN_ROWS = 5;
const KEPT_SAMPLES = 600;
const KEPT_STEPS = 200;
/** Of everything that was recorded: about as many as a chart has pixels for. */
const HISTORY_SAMPLES = 300;

export interface LiveOptions {
  readonly about: About;
  readonly observed: Observed;
  readonly stepSource: StepSource | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export type Viewer = (message: Message) => void;

export class Live {
  readonly #options: LiveOptions;
  readonly #viewers = new Set<Viewer>();
  readonly #samples: Sample[] = [];
  readonly #calls = new CallCounter();
  #tables: Tables | undefined;
  #steps: Step[] = [];
  #rowsTimer: Timer | undefined;
  #stepsTimer: Timer | undefined;
  #ends: (() => void)[] = [];

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** Tells everything first, then what changes. Returns a function that stops it. */
  join(viewer: Viewer): () => void {
    const { about, clock, stepSource } = this.#options;
    if (this.#viewers.size === 0) this.#start();
    this.#viewers.add(viewer);
    this.#tables ??= this.#make();
    viewer({
      kind: 'all',
      nowMs: clock.now(),
      about,
      tables: this.#tables,
      samples: this.#past(this.#tables) ?? this.#samples,
      steps: stepSource?.recent(KEPT_STEPS) ?? [],
    });
    return () => {
      if (this.#viewers.delete(viewer) && this.#viewers.size === 0) this.#stop();
    };
  }

  /** Everything that was recorded, in at most so many samples. Empty where nothing is. */
  history(): Sample[] {
    const { stepSource, clock } = this.#options;
    const recording = stepSource?.recording();
    const toMs = clock.now();
    const sinceMs = recording?.sinceMs;
    if (recording === undefined || sinceMs === undefined) return [];
    const stepMs = Math.max(SAMPLE_MS, Math.ceil((toMs - sinceMs) / HISTORY_SAMPLES));
    const fromMs = sinceMs - stepMs;
    return historyOf({ recording, tables: this.#tables ?? this.#make(), fromMs, toMs, stepMs });
  }

  /** The last samples, as if somebody had looked all the time; undefined where nothing is recorded. */
  #past(tables: Tables): Sample[] | undefined {
    const { stepSource, clock } = this.#options;
    const recording = stepSource?.recording();
    if (recording?.sinceMs === undefined) return undefined;
    const toMs = clock.now();
    const fromMs = Math.max(toMs - (KEPT_SAMPLES - 1) * SAMPLE_MS, recording.sinceMs - SAMPLE_MS);
    return historyOf({ recording, tables, fromMs, toMs, stepMs: SAMPLE_MS });
  }

  #start(): void {
    const { clock, stepSource, observed } = this.#options;
    this.#ends = [observed.subscribe(() => this.#changed())];
    if (stepSource) {
      this.#ends.push(
        stepSource.follow((step, call) => {
          if (call) this.#calls.add(call);
          this.#steps.push(step);
          this.#stepsTimer ??= clock.setTimeout(() => this.#tellSteps(), PAUSE_MS);
        }),
      );
    }
    let samples = 0;
    const sample = (): void => {
      this.#takeSample();
      if (++samples % SAMPLES_BETWEEN_ROWS === 0) this.#changed();
      sampling = clock.setTimeout(sample, SAMPLE_MS);
    };
    let sampling = clock.setTimeout(sample, SAMPLE_MS);
    this.#ends.push(() => sampling.cancel());
  }

  #stop(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
    this.#rowsTimer?.cancel();
    this.#stepsTimer?.cancel();
    this.#rowsTimer = undefined;
    this.#stepsTimer = undefined;
    this.#steps = [];
    this.#tables = undefined;
    this.#calls.take();
  }

  #changed(): void {
    this.#rowsTimer ??= this.#options.clock.setTimeout(() => this.#tellRows(), PAUSE_MS);
  }

  #tellRows(): void {
    const { clock, log } = this.#options;
    const startedMs = clock.monotonicMs();
    this.#rowsTimer = undefined;
    try {
      const before = this.#tables;
      const after = this.#make();
      this.#tables = after;
      const changes = before && changesBetween(before, after);
      if (changes) this.#send({ kind: 'changes', nowMs: clock.now(), changes });
    } catch (error) {
      log.error('could not make the rows of the page', error);
      this.#send({ kind: 'trouble', says: `the rows could not be made: ${(error as Error).message}` });
    }
    const tookMs = clock.monotonicMs() - startedMs;
    if (tookMs < PAUSE_MS * MOST_BUSY) return;
    // What changes meanwhile is told after that rest.
    this.#rowsTimer = clock.setTimeout(() => this.#tellRows(), tookMs / MOST_BUSY);
  }

  #make(): Tables {
    return tablesOf(this.#options.observed.now());
  }

  #tellSteps(): void {
    this.#stepsTimer = undefined;
    this.#send({ kind: 'steps', steps: this.#steps.slice(-KEPT_STEPS) });
    this.#steps = [];
  }

  #takeSample(): void {
    if (this.#tables === undefined) return;
    const calls = this.#options.stepSource && this.#calls.take();
    const sample = { ...sampleOf(this.#tables, this.#options.clock.now()), ...(calls && { calls }) };
    this.#samples.push(sample);
    if (this.#samples.length > KEPT_SAMPLES) this.#samples.shift();
    this.#send({ kind: 'sample', sample });
  }

  #send(message: Message): void {
    for (const viewer of this.#viewers) viewer(message);
  }
}
