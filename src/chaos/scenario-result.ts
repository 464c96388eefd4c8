// What became of a scenario: plain data, for reports.

import type { ShownFault } from '../faults/active-faults.ts';

export interface StepResult {
  /** `fault CreateVolume lose-answer once`, `expect running within 30s`. */
  readonly what: string;
  readonly isExpectation: boolean;
  /** Since the beginning. */
  readonly atMs: number;
  readonly ms: number;
  /** Empty: done, or it holds. */
  readonly missing: readonly string[];
}

export interface CalledMethod {
  readonly method: string;
  readonly count: number;
  /** Code to count, of those that failed. */
  readonly failures: Readonly<Record<string, number>>;
}

export interface ScenarioResult {
  readonly name: string;
  readonly about: string;
  readonly pain?: string;
  readonly told: readonly string[];
  /** The scenario's argument on the command line. */
  readonly source: string;
  readonly driver: { readonly name: string; readonly version: string };
  readonly state: 'passed' | 'failed' | 'skipped';
  /** Of one that was skipped. */
  readonly why?: string;
  readonly ms: number;
  readonly steps: readonly StepResult[];
  readonly faults: readonly ShownFault[];
  readonly calls: readonly CalledMethod[];
  /** Of one that failed: what `berth why` says, and the calls, one a line. */
  readonly troubles: readonly string[];
  readonly timeline: readonly string[];
}
