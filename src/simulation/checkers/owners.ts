// Where replicas share, no two of them have a call under way for the same object. A call of a replica that died or hangs does
// not count: its successor may repeat it. The holder of the group's Lease is the group.

import type { Checker, Rules } from './index.ts';

export function ownerChecker({ plan, violate }: Rules): Checker {
  if (!plan.isSharded) return {};
  /** Kind of sidecar, driver and object, to the callers and the number of their calls under way. */
  const underWay = new Map<string, Map<string, number>>();
  const excused = new Set<string>();

  return {
    process({ process, what }) {
      if (what === 'is paused') excused.add(process);
      // A process that hangs does not hear it.
      else if (what !== 'is told to stop') excused.delete(process);
      if (what !== 'is paused' && what !== 'goes on' && what !== 'is told to stop') {
        for (const callers of underWay.values()) callers.delete(process);
      }
    },
    call({ actor, call }) {
      const [kind] = actor.split('-');
      if (kind === 'node') return;
      const key = `${kind} ${call.driver} ${call.volume}`;
      const callers = underWay.get(key) ?? new Map<string, number>();
      underWay.set(key, callers);
      for (const [other, count] of callers) {
        if (other !== actor && count > 0 && !excused.has(other)) {
          violate(
            'two-owners',
            `${actor} calls ${call.method} ${call.volume} while ${other} has a call under way for it`,
          );
        }
      }
      callers.set(actor, (callers.get(actor) ?? 0) + 1);
    },
    returned({ actor, call }) {
      const callers = underWay.get(`${actor.split('-')[0]} ${call.driver} ${call.volume}`);
      const count = callers?.get(actor);
      if (count !== undefined) callers?.set(actor, count - 1);
    },
  };
}
