// The report of `berth check` and `berth try`: what was tested, one verdict for each test as it ends, and a summary. Formats
// are text for people, JSON lines, JUnit XML and TAP for programs.

import type { GrpcCode } from '../../wire/grpc/grpc-code.ts';
import { grpcCodes } from '../../wire/grpc/grpc-code.ts';
import { jsonReporter } from './json-reporter.ts';
import { junitReporter } from './junit-reporter.ts';
import { tapReporter } from './tap-reporter.ts';
import { textReporter } from './text-reporter.ts';

/** The driver, as it describes itself. */
export interface Subject {
  readonly driver: string;
  readonly version: string;
  /** Capability names by service: `controller`, `node`, `plugin`. */
  readonly capabilities: Readonly<Record<string, readonly string[]>>;
}

export interface Tested {
  readonly group: string;
  readonly title: string;
  /** URL of the section of the CSI specification that has the rule. */
  readonly specification?: string;
}

export type Verdict =
  | { state: 'passed'; ms: number; note?: string; left: readonly string[] }
  | { state: 'failed'; ms: number; why: string; left: readonly string[] }
  | { state: 'skipped'; why: string };

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export interface Reporter {
  begin(subject: Subject): void;
  add(tested: Tested, verdict: Verdict): void;
  /** Prints what is printed last. */
  end(counts: Counts): void;
}

export type Write = (text: string) => unknown;

export const reportFormats = ['text', 'json', 'junit', 'tap'] as const;
export type ReportFormat = (typeof reportFormats)[number];

export interface Report {
  begin(subject: Subject): void;
  add(tested: Tested, verdict: Verdict): void;
  /** Whether nothing failed. */
  end(): boolean;
}

const reporters: Record<ReportFormat, (suite: string, write: Write) => Reporter> = {
  text: (_suite, write) => textReporter(write),
  json: (_suite, write) => jsonReporter(write),
  junit: junitReporter,
  tap: (_suite, write) => tapReporter(write),
};

/** `suite` is the command's name, for formats that have one. */
export function createReport(format: ReportFormat, suite: string, write: Write): Report {
  const reporter = reporters[format](suite, write);
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  return {
    begin: (subject) => reporter.begin(subject),
    add(tested, verdict) {
      counts[verdict.state] += 1;
      reporter.add(tested, verdict);
    },
    end() {
      reporter.end(counts);
      return counts.failed === 0;
    },
  };
}

/** A code as reports print it: `UNKNOWN` or `INTERNAL` alone could be read as a word of the report. */
export const codeText = (code: GrpcCode): string => `gRPC code ${grpcCodes[code]} (${code})`;

/** The driver's own words. */
export const quoted = (words: string): string =>
  words === '' ? 'the driver gave no message' : `the driver said: ${JSON.stringify(words)}`;
