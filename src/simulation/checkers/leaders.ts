// Only the holder of the lease calls the driver, where sidecars have more than one replica. Reads the Lease as the API
// server has it.

import type { Lease } from '../../api/kinds.ts';
import type { Checker, Rules } from './index.ts';

export function leaderChecker({ plan, violate }: Rules): Checker {
  const holders = new Map<string, string>();
  const replicated = new Set(plan.drivers.filter(({ replicas }) => replicas > 1).map(({ short }) => short));
  if (replicated.size === 0 || plan.isSharded) return {};

  return {
    api({ plural, key, after }) {
      if (plural === 'leases') holders.set(key, (after as Lease | undefined)?.spec?.holderIdentity ?? '');
    },
    call({ actor, call }) {
      const [kind, short = ''] = actor.split('-');
      if (kind === 'node' || !replicated.has(short)) return;
      const holder = holders.get(`kube-system/${kind}-${short}`) ?? '';
      if (!holder.startsWith(`${actor}_`)) {
        violate('two-leaders', `${actor} calls ${call.method}, the lease is held by ${holder || 'nobody'}`);
      }
    },
  };
}
