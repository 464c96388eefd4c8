// Only the holder of the lease calls the driver, where sidecars have more than one replica. Reads the Lease as the API
// server has it.

import type { Lease } from '../../api/kinds.ts';
import type { Checker, Rules } from './index.ts';

export function leaderChecker({ plan, violate }: Rules): Checker {
  const holders = new Map<string, string>();
  const replicated = new Set(plan.drivers.filter(({ replicas }) => replicas > 1).map(({ short }) => short));
  if (replicated.size === 0) return () => {};

  return (entry) => {
    if (entry.kind === 'api' && entry.plural === 'leases') {
      holders.set(entry.key, (entry.after as Lease | undefined)?.spec?.holderIdentity ?? '');
      return;
    }
    if (entry.kind !== 'call') return;
    const [kind, short = ''] = entry.actor.split('-');
    if (kind === 'node' || !replicated.has(short)) return;
    const holder = holders.get(`kube-system/${kind}-${short}`) ?? '';
    if (!holder.startsWith(`${entry.actor}_`)) {
      violate(
        'two-leaders',
        `${entry.actor} calls ${entry.call.method}, the lease is held by ${holder || 'nobody'}`,
      );
    }
  };
}
