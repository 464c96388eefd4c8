// At most one call under way for one volume from one component. A component that died takes its calls with it, as far as
// this rule goes: its next life may repeat them.

import type { Checker, Rules } from './index.ts';

export function callChecker({ violate }: Rules): Checker {
  /** Actor and volume to the calls under way. */
  const underWay = new Map<string, Map<number, string>>();

  return (entry) => {
    if (entry.kind === 'process') {
      for (const key of underWay.keys()) if (key.startsWith(`${entry.process} `)) underWay.delete(key);
      return;
    }
    if (entry.kind !== 'call' && entry.kind !== 'returned') return;
    const key = `${entry.actor} ${entry.call.driver} ${entry.call.volume}`;
    const calls = underWay.get(key) ?? new Map<number, string>();
    if (entry.kind === 'returned') {
      calls.delete(entry.id);
      return;
    }
    const [other] = calls.values();
    if (other !== undefined) {
      violate(
        'one-in-flight',
        `${entry.actor}: ${entry.call.method} ${entry.call.volume} while ${other} is under way`,
      );
    }
    underWay.set(key, calls.set(entry.id, entry.call.method));
  };
}
