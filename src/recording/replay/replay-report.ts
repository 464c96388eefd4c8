// What a replay found, as data and as text.

import type { JsonValue } from '../../wire/protobuf/json.ts';
import type { FieldDifference } from './compare-messages.ts';

export interface CallDifference {
  /** The recorded call; absent for one that was not recorded. */
  readonly call?: number;
  readonly method: string;
  /** The object that the call is about, as the recording calls it. */
  readonly subject: string;
  readonly fields: readonly FieldDifference[];
}

export interface ReplayReport {
  readonly recording: string;
  readonly as: 'client' | 'driver';
  /** Recorded calls. */
  readonly calls: number;
  /** Calls whose answer, or request, is as recorded. */
  readonly same: number;
  readonly differences: readonly CallDifference[];
  /** Reason to number of recorded calls that were not played or not compared. */
  readonly left: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
}

export function isDifferent({ differences }: ReplayReport): boolean {
  return differences.length > 0;
}

/** A longer list is of no use to anybody; `-o json` has all. */
const MOST_SHOWN = 100;

export function reportText(report: ReplayReport): string {
  const { differences } = report;
  const lines = differences.slice(0, MOST_SHOWN).flatMap(differenceLines);
  if (differences.length > MOST_SHOWN)
    lines.push(`… and ${differences.length - MOST_SHOWN} more; -o json has all`);
  for (const note of report.notes) lines.push(`note: ${note}`);
  const left = Object.entries(report.left).map(([why, count]) => `, ${count} ${why}`);
  const kind = report.as === 'client' ? 'answered as recorded' : 'asked for as recorded';
  const differ = differences.length === 1 ? '1 differs' : `${differences.length} differ`;
  lines.push(`${report.calls} recorded calls: ${report.same} ${kind}, ${differ}${left.join('')}`);
  return `${lines.join('\n')}\n`;
}

function differenceLines({ call, method, subject, fields }: CallDifference): string[] {
  const head = `${call === undefined ? 'not recorded' : `call ${call}`}: ${method}${subject === '' ? '' : ` ${subject}`}`;
  return [head, ...fields.map(({ field, recorded, now }) => `  ${field}: ${change(recorded, now)}`)];
}

function change(recorded: JsonValue | undefined, now: JsonValue | undefined): string {
  if (now === undefined) return `was ${shown(recorded)}, is missing now`;
  if (recorded === undefined) return `is ${shown(now)}, was not there`;
  return `was ${shown(recorded)}, is ${shown(now)}`;
}

const LONGEST_VALUE = 300;

function shown(value: JsonValue | undefined): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
