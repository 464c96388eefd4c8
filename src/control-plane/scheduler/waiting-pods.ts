// Unschedulable pods, and the kinds of changes that may help each. They are woken by such changes only, never by a
// timer.

import { REASONS, type ReasonCounts } from './reasons.ts';

/** A node was added or changed; a pod or attachment was deleted; something about volumes changed. */
export type Change = 'node' | 'room' | 'volumes';

const ROOM_REASONS: ReadonlySet<string> = new Set([
  REASONS.tooManyPods,
  REASONS.ports,
  REASONS.volumeLimit,
  REASONS.readWriteOncePod,
]);
const ABOUT_NODES: ReadonlySet<string> = new Set([
  REASONS.unschedulable,
  REASONS.notReady,
  REASONS.taint,
  REASONS.nodeAffinity,
]);

export class WaitingPods {
  readonly #waiting = new Map<string, ReadonlySet<Change>>();

  get size(): number {
    return this.#waiting.size;
  }

  add(key: string, changes: ReadonlySet<Change>): void {
    this.#waiting.set(key, changes);
  }

  delete(key: string): void {
    this.#waiting.delete(key);
  }

  woken(by: Change): string[] {
    return [...this.#waiting].flatMap(([key, changes]) => (changes.has(by) ? [key] : []));
  }
}

/** A node can always help; other changes only where they were the obstacle. */
export function changesThatHelp(reasons: ReasonCounts): ReadonlySet<Change> {
  const changes = new Set<Change>(['node']);
  if (reasons.has((reason) => ROOM_REASONS.has(reason) || reason.startsWith('Insufficient '))) {
    changes.add('room');
  }
  if (reasons.has((reason) => !ABOUT_NODES.has(reason) && !reason.startsWith('Insufficient '))) {
    changes.add('volumes');
  }
  return changes;
}
