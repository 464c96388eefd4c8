// The port to recorded steps (the trace); implemented where everything runs in one process.

import type { Step } from './page-messages.ts';

/** A call of a driver that has ended. */
export interface EndedCall {
  readonly method: string;
  readonly durationMs: number;
  readonly hasFailed: boolean;
}

export interface StepSource {
  /** The last ones, oldest first. */
  recent(most: number): Step[];
  /** All that belongs to it, oldest first, calls under way last. */
  of(subject: { kind: 'claim' | 'pod' | 'snapshot' | 'group'; namespace: string; name: string }): Step[];
  /** Calls back with each step from now on. Returns a function that stops it. */
  follow(listener: (step: Step, call: EndedCall | undefined) => void): () => void;
}
