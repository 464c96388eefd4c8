// A volume that a pod uses read-only is published read-only. Of a raw block volume that has to hold for the device itself:
// a bind mount that is read-only does not stop writes to it.

import type { PersistentVolume, Pod } from '../../api/kinds.ts';
import type { Checker, Rules } from './index.ts';
import { podUidOf } from './volume-states.ts';

export function readOnlyChecker({ violate }: Rules): Checker {
  /** UID of a pod to the claims that it only reads. */
  const readers = new Map<string, readonly string[]>();
  /** Volume handle to the name of its claim. */
  const claimOf = new Map<string, string>();

  return {
    api({ plural, after }) {
      if (plural === 'persistentvolumes' && after) {
        const { csi, claimRef } = (after as PersistentVolume).spec;
        if (csi && claimRef?.name) claimOf.set(csi.volumeHandle, claimRef.name);
      }
      if (plural !== 'pods' || !after) return;
      const names = ((after as Pod).spec.volumes ?? []).flatMap(({ persistentVolumeClaim: use }) =>
        use?.readOnly ? [use.claimName] : [],
      );
      if (names.length > 0) readers.set(after.metadata.uid, names);
    },
    storage({ change, volume, node, path, isReadOnly }) {
      if (change !== 'published' || isReadOnly) return;
      const uid = podUidOf(path);
      if (readers.get(uid)?.includes(claimOf.get(volume) ?? ''))
        violate('read-only', `volume ${volume} can be written on ${node} by pod ${uid}, which only reads it`);
    },
  };
}
