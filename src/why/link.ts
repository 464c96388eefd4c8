// Builds the links of a chain and their texts. Pure.

import type { KubeObject } from '../api/object.ts';
import { formatDuration } from '../runtime/flags/duration.ts';
import type { Link } from './chain.ts';
import type { Facts } from './facts.ts';

export interface Details {
  todo?: readonly string[];
  /** Whose events belong here. */
  about?: KubeObject;
}

export const ok = (subject: string, says: string): Link => ({
  subject,
  state: 'ok',
  says,
  todo: [],
  said: [],
});

/** The last link of a chain: later stages have not begun. */
export function end(
  facts: Facts,
  state: 'waits' | 'stuck',
  subject: string,
  says: string,
  { todo = [], about }: Details = {},
): Link {
  return { subject, state, says, todo, said: about ? saidOf(facts, about) : [] };
}

export const isWhole = (links: readonly Link[]): boolean => links.every(({ state }) => state === 'ok');

/** Number of events shown. */
const SHOWN_EVENTS = 2;

/** The newest warnings about an object. */
function saidOf({ events, nowMs }: Facts, { metadata }: KubeObject): string[] {
  return events
    .filter(({ involvedObject, type }) => involvedObject.uid === metadata.uid && type === 'Warning')
    .toSorted((a, b) => lastSeen(b) - lastSeen(a))
    .slice(0, SHOWN_EVENTS)
    .map((event) => {
      const by = event.source?.component ?? event.reportingComponent ?? 'somebody';
      const times = (event.count ?? 1) > 1 ? `, ${event.count} times` : '';
      return `${by} said ${ago(lastSeen(event), nowMs)} ago${times}: ${event.reason}: ${event.message}`;
    });
}

function lastSeen(event: Facts['events'][number]): number {
  return Date.parse(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp);
}

/** To the second. */
export function ago(ms: number, nowMs: number): string {
  return formatDuration(Math.max(0, Math.floor((nowMs - ms) / 1000)) * 1000);
}

export const since = (time: string | undefined, { nowMs }: Facts): string =>
  time === undefined ? '' : ` for ${ago(Date.parse(time), nowMs)}`;

/** `a`, `a and b`, `a, b and 3 more`. */
export function enumerated(names: readonly string[]): string {
  const [first = '', second, ...more] = names;
  if (second === undefined) return first;
  return more.length === 0 ? `${first} and ${second}` : `${first}, ${second} and ${more.length} more`;
}
