// The state of each object and the troubles behind it, as `berth why` reports them: found once for all tables. Pure.

import type { KubeObject } from '../api/object.ts';
import type { Link } from '../why/chain.ts';
import type { ExplainedKind } from '../why/explain.ts';
import type { Facts } from '../why/facts.ts';
import { findCulprits, groupByCause, nameOfObject } from '../why/find-troubles.ts';
import type { State, TroubleRow } from './page-messages.ts';

export interface Judged {
  readonly state: State;
  /** The sentence on what is wrong; empty when nothing is. */
  readonly says: string;
}

export interface Judgement {
  of(kind: ExplainedKind, object: KubeObject): Judged;
  /** One for each cause, the worst first. */
  readonly troubles: readonly TroubleRow[];
}

export const WELL: Judged = { state: 'ok', says: '' };

/** Affected objects that are sent to the page; a list shows the others. */
const MOST_AFFECTED = 100;
const SEVERITY: readonly State[] = ['ok', 'waits', 'stuck'];

export function judge(facts: Facts): Judgement {
  const culprits = findCulprits(facts);
  const byName = new Map(culprits.map((each) => [nameOfObject(each.kind, each.object), each]));
  const createdMs = (name: string): number =>
    Date.parse(byName.get(name)?.object.metadata.creationTimestamp ?? '') || facts.nowMs;
  return {
    of(kind, object) {
      const culprit = byName.get(nameOfObject(kind, object));
      return culprit === undefined ? WELL : judgedBy(culprit.link);
    },
    troubles: groupByCause(culprits).map(({ affects, ...trouble }, order) => ({
      ...trouble,
      // Each object has one cause, so its first object tells a cause from the others. The text may name a duration.
      id: affects[0] ?? '',
      affects: affects.slice(0, MOST_AFFECTED),
      affected: affects.length,
      order,
      createdMs: Math.min(...affects.map(createdMs)),
    })),
  };
}

const judgedBy = ({ state, subject, says }: Link): Judged => ({ state, says: `${subject}: ${says}` });

/** Of several that belong together; the first of those that are equally bad. */
export function worstOf(judged: readonly Judged[]): Judged {
  return judged.reduce(
    (worst, each) => (SEVERITY.indexOf(each.state) > SEVERITY.indexOf(worst.state) ? each : worst),
    WELL,
  );
}
