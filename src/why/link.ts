// Builds the links of a chain and their texts. Pure.

import type { Pod } from '../api/kinds.ts';
import { type KubeObject, keyOf } from '../api/object.ts';
import { formatDuration } from '../runtime/flags/duration.ts';
import { type Attempt, adviceOn, canEnd, causeText } from './advice.ts';
import type { Link } from './chain.ts';
import { warningsAbout } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { lastSeenMs, type Report } from './report.ts';

export interface Details {
  todo?: readonly string[];
  /** Whose events belong here. */
  about?: KubeObject | undefined;
  cause?: string;
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
  { todo = [], about, cause }: Details = {},
): Link {
  const said = about ? saidOf(facts, about) : [];
  return { subject, state, says, todo, said, ...(cause !== undefined && { cause }) };
}

/** A link that ends with a report. `before` precedes the report's text where that alone would not be understood. */
export function reported(
  facts: Facts,
  subject: string,
  failed: { report: Report; attempt: Attempt; before?: string; about: KubeObject },
): Link {
  const { report, attempt, before = '', about } = failed;
  const text = causeText(report, attempt);
  return end(facts, canEnd(report, attempt) ? 'waits' : 'stuck', subject, `${before}${text}`, {
    todo: adviceOn(report, attempt),
    about,
    // Of claims that are refused alike, the size and the class are what matters, not the claim.
    cause: `${attempt.driver} ${attempt.storageClass ?? ''} ${text}`,
  });
}

export const isWhole = (links: readonly Link[]): boolean => links.every(({ state }) => state === 'ok');

/** Number of events shown. */
const SHOWN_EVENTS = 2;

/** The newest warnings about an object. */
function saidOf(facts: Facts, object: KubeObject): string[] {
  return warningsAbout(facts, object)
    .toSorted((a, b) => lastSeenMs(b) - lastSeenMs(a))
    .slice(0, SHOWN_EVENTS)
    .map((event) => {
      const by = event.source?.component ?? event.reportingComponent ?? 'somebody';
      const times = (event.count ?? 1) > 1 ? `, ${event.count} times` : '';
      return `${by} said ${ago(lastSeenMs(event), facts.nowMs)} ago${times}: ${event.reason}: ${event.message}`;
    });
}

/** To the second. */
export function ago(ms: number, nowMs: number): string {
  return formatDuration(Math.max(0, Math.floor((nowMs - ms) / 1000)) * 1000);
}

/** Empty without a time; servers send null for one that was never set. */
export function since(time: string | null | undefined, { nowMs }: Facts): string {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? '' : ` for ${ago(ms, nowMs)}`;
}

/** `a`, `a and b`, `a, b and 3 more`. */
export function enumerated(names: readonly string[]): string {
  const [first = '', second, ...more] = names;
  if (second === undefined) return first;
  return more.length === 0 ? `${first} and ${second}` : `${first}, ${second} and ${more.length} more`;
}

/** As kubectl takes it: `pvc data -n default`. */
export const objectArgument = (
  kind: 'pod' | 'pvc' | 'pv' | 'volumesnapshot',
  { metadata }: KubeObject,
): string => `${kind} ${metadata.name}${metadata.namespace ? ` -n ${metadata.namespace}` : ''}`;

export const podNames = (found: readonly Pod[]): string =>
  enumerated(found.map((pod) => `pod ${keyOf(pod)}`));
