// Which claims group snapshots need, and with them the finalizer that keeps a claim from being deleted: those that a group
// snapshot selects while it is not ready, and those whose volumes are being cut, whatever their labels are by now.

import { dynamicGroupContentName } from '../../api/group-snapshots.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { labelSelectorOf, matchesLabels } from '../../api/selectors.ts';
import type { Informer } from '../../runtime/informer/informer.ts';

export interface GroupClaims {
  /** Those that the group snapshot selects, or that a content was created for, as cached. */
  knownTo(group: VolumeGroupSnapshot): readonly PersistentVolumeClaim[];
  isNeeded(claim: PersistentVolumeClaim): boolean;
}

export const isGoing = ({ metadata }: { metadata: { deletionTimestamp?: string } }): boolean =>
  metadata.deletionTimestamp !== undefined;

export function createGroupClaims(from: {
  claims: Informer<PersistentVolumeClaim>;
  volumes: Informer<PersistentVolume>;
  contents: { get(key: string): VolumeGroupSnapshotContent | undefined };
  unreadyIn(namespace: string): readonly VolumeGroupSnapshot[];
  /** Keys of the group snapshots that cannot be cut as things are. */
  unplanned: ReadonlySet<string>;
  /** By group snapshot, the claims that a content was created for, which the cache may not show yet. */
  planned: ReadonlyMap<string, ReadonlySet<string>>;
}): GroupClaims {
  const selects = ({ spec }: VolumeGroupSnapshot, { metadata }: PersistentVolumeClaim): boolean =>
    spec.source.selector !== undefined &&
    matchesLabels(labelSelectorOf(spec.source.selector), metadata.labels);

  const isCutting = (group: VolumeGroupSnapshot, { spec: { volumeName = '' } }: PersistentVolumeClaim) => {
    const handle = from.volumes.get(volumeName)?.spec.csi?.volumeHandle;
    const content = from.contents.get(dynamicGroupContentName(group));
    return handle !== undefined && (content?.spec.source.volumeHandles?.includes(handle) ?? false);
  };

  const isPlanned = (group: VolumeGroupSnapshot, claim: PersistentVolumeClaim): boolean =>
    from.planned.get(keyOf(group))?.has(keyOf(claim)) ?? false;

  return {
    knownTo: (group) =>
      from.claims
        .list()
        .filter(
          (claim) =>
            claim.metadata.namespace === group.metadata.namespace &&
            (selects(group, claim) || isPlanned(group, claim)),
        ),
    // A claim stays while a group snapshot that needs it is not ready. One that cannot be cut as things are keeps no claim
    // from being deleted: it may itself be waiting for another of its claims to be deleted.
    isNeeded: (claim) =>
      from
        .unreadyIn(claim.metadata.namespace ?? '')
        .some(
          (group) =>
            !isGoing(group) &&
            !(isGoing(claim) && from.unplanned.has(keyOf(group))) &&
            (selects(group, claim) || isCutting(group, claim) || isPlanned(group, claim)),
        ),
  };
}
