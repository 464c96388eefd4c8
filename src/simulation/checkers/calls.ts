// At most one call under way for one volume from one component. Calls of a process that died do not count: its successor
// may repeat them.

import type { CallFacts } from '../history.ts';
import type { Checker, Rules } from './index.ts';

export function callChecker({ violate }: Rules): Checker {
  /** Actor and volume to the calls under way. */
  const underWay = new Map<string, Map<number, string>>();

  return {
    process({ process }) {
      for (const key of underWay.keys()) if (key.startsWith(`${process} `)) underWay.delete(key);
    },
    call({ id, actor, call }) {
      const key = keyFor(actor, call);
      const calls = underWay.get(key) ?? new Map<number, string>();
      const [other] = calls.values();
      if (other !== undefined) {
        violate('one-in-flight', `${actor}: ${call.method} ${call.volume} while ${other} is under way`);
      }
      underWay.set(key, calls.set(id, call.method));
    },
    returned({ id, actor, call }) {
      underWay.get(keyFor(actor, call))?.delete(id);
    },
  };
}

function keyFor(actor: string, { driver, volume }: CallFacts): string {
  return `${actor} ${driver} ${volume}`;
}
