// The port to recorded steps (the trace); implemented where everything runs in one process.

import type { Step } from './page-messages.ts';

/** A call of a driver that has ended. */
export interface EndedCall {
  readonly method: string;
  readonly durationMs: number;
  readonly hasFailed: boolean;
}

/** Of a claim, an attachment, or a pod that uses a claim. */
export interface RecordedChange {
  readonly atMs: number;
  /** `claim ns/name`, `pod ns/name`, `attachment name`. */
  readonly key: string;
  readonly verb: 'created' | 'changed' | 'deleted';
  /** Afterwards; of an attachment whether it is attached: `true` or `false`. */
  readonly phase?: string;
}

export interface Recording {
  /** When each ended. */
  readonly calls: readonly (EndedCall & { readonly atMs: number })[];
  /** Oldest first. */
  readonly changes: readonly RecordedChange[];
  /** Of the oldest entry; undefined when nothing is recorded. */
  readonly sinceMs: number | undefined;
}

export interface StepSource {
  /** The last ones, oldest first. */
  recent(most: number): Step[];
  /** All that belongs to it, oldest first, calls under way last. */
  of(subject: { kind: 'claim' | 'pod' | 'snapshot' | 'group'; namespace: string; name: string }): Step[];
  /** What the charts show of the time before the page was opened. */
  recording(): Recording;
  /** Calls back with each step from now on. Returns a function that stops it. */
  follow(listener: (step: Step, call: EndedCall | undefined) => void): () => void;
}
