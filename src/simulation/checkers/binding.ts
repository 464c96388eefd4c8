// A volume belongs to at most one claim at a time, and a claim never changes its volume.

import type { PersistentVolumeClaim } from '../../api/kinds.ts';
import type { Entry } from '../history.ts';
import type { Checker, Rules } from './index.ts';

export function bindingChecker({ violate }: Rules): Checker {
  /** Volume name to the UID of the claim that is bound to it. */
  const owners = new Map<string, string>();

  function check(entry: Extract<Entry, { kind: 'api' }>): void {
    if (entry.plural !== 'persistentvolumeclaims') return;
    const before = entry.before as PersistentVolumeClaim | undefined;
    const after = entry.after as PersistentVolumeClaim | undefined;
    const was = before?.spec.volumeName;
    const is = after?.spec.volumeName;
    if (was && after && was !== is)
      violate('two-claims', `claim ${entry.key} left ${was} for ${is ?? 'nothing'}`);
    if (was && before && !after && owners.get(was) === before.metadata.uid) owners.delete(was);
    if (!is || !after || after.status?.phase !== 'Bound') return;
    const owner = owners.get(is);
    if (owner !== undefined && owner !== after.metadata.uid) {
      violate('two-claims', `claim ${entry.key} is bound to ${is}, which another claim has`);
    }
    owners.set(is, after.metadata.uid);
  }

  return { api: check };
}
