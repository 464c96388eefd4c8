// What a scenario can expect, and within which time. Reading it is pure; world-state.ts finds out whether it holds.

import { formatDuration, parseDuration } from '../runtime/flags/duration.ts';
import { nearestOf } from '../runtime/flags/parse-flags.ts';

export const CONDITIONS = {
  running: 'every pod runs, and every StatefulSet has all of its pods',
  bound: 'every claim is bound',
  ready: 'every snapshot is ready to use',
  resized: 'every claim has the size that it asks for',
  gone: 'no pod, claim, volume, snapshot or attachment is left',
  struck: 'every fault has struck: as often as its count says, or once',
  'nothing leaked': '`berth audit` finds nothing leaked or doubtful, and nothing is under way',
} as const;

export type ConditionName = keyof typeof CONDITIONS;

export interface Condition {
  readonly name: ConditionName | 'why';
  /** Of `why`: what is asked about, and what the answer must contain. */
  readonly subject?: { readonly kind: string; readonly name: string };
  readonly says?: string;
  readonly withinMs: number;
}

/** Far more than anything takes here, and less than a person waits. */
const WITHIN_MS = 30_000;
const NAMES = Object.keys(CONDITIONS) as ConditionName[];

/** As text: what is wrong with it. */
export function parseCondition(text: string): Condition | string {
  const [, given = '', within] = /^(.*?)(?:\s+within\s+(\S+))?$/.exec(text.trim()) ?? [];
  const withinMs = within === undefined ? WITHIN_MS : parseDuration(within);
  if (withinMs === undefined || withinMs <= 0) return `within needs a time as 30s, and got ${within}`;
  const name = NAMES.find((each) => each === given);
  if (name !== undefined) return { name, withinMs };
  const [, kind, subject, says] = /^why\s+([a-z]+)\/(\S+)\s+says\s+(.+)$/.exec(given) ?? [];
  if (kind !== undefined && subject !== undefined && says !== undefined) {
    return { name: 'why', subject: { kind, name: subject }, says, withinMs };
  }
  const nearest = nearestOf(given, NAMES);
  const known = `${NAMES.join(', ')}, why pod/NAME says TEXT`;
  return `${JSON.stringify(given)} cannot be expected; ${nearest === undefined ? `these can: ${known}` : `did you mean ${nearest}?`}`;
}

export function formatCondition({ name, subject, says, withinMs }: Condition): string {
  const what = name === 'why' ? `why ${subject?.kind}/${subject?.name} says ${says}` : name;
  return `${what} within ${formatDuration(withinMs)}`;
}
