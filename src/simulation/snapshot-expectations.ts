// What must be there of snapshots once faults have ended, and what must be gone once users have deleted everything. Reads the
// state of the API server and of the storage, never a component.

import { groupOwnerOf } from '../api/group-snapshots.ts';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import { keyOf, nameFromKey } from '../api/object.ts';
import { labelSelectorOf, matchesLabels } from '../api/selectors.ts';
import { isReadyToUse } from '../api/snapshots.ts';
import type { World } from './world.ts';

/** What users still wait for, as text. */
export function* snapshotExpectations(world: World): Generator<string> {
  if (!hasSnapshots(world)) return;
  const { reader } = world.server;
  const claims = [...reader.list(persistentVolumeClaims)];
  for (const snapshot of reader.list(volumeSnapshots)) {
    const key = keyOf(snapshot);
    if (snapshot.metadata.deletionTimestamp) {
      if (!isAwaited(world, key) && !isHeldByGroup(world, snapshot)) yield `snapshot ${key} is being deleted`;
    } else if (!isReadyToUse(snapshot) && canBeCut(world, snapshot)) yield `snapshot ${key} is not ready`;
  }
  for (const group of reader.list(volumeGroupSnapshots)) {
    const key = keyOf(group);
    const members = [...reader.list(volumeSnapshots)].filter(
      (each) => groupOwnerOf(each)?.uid === group.metadata.uid,
    );
    if (group.metadata.deletionTimestamp) {
      if (!members.some((member) => isAwaited(world, keyOf(member))))
        yield `group snapshot ${key} is being deleted`;
      continue;
    }
    const selector = labelSelectorOf(group.spec.source.selector);
    const selected = claims.filter(({ metadata }) => matchesLabels(selector, metadata.labels));
    const isCut = group.status?.boundVolumeGroupSnapshotContentName !== undefined;
    const canStart = selected.length > 0 && selected.every((claim) => isUsable(world, claim));
    if (group.status?.readyToUse) {
      if (members.length === 0) yield `group snapshot ${key} has no members`;
    } else if (isCut || canStart) yield `group snapshot ${key} is not ready`;
  }
}

/** A claim that waits to be restored from the snapshot keeps it from being deleted. */
function isAwaited({ server: { reader } }: World, snapshotKey: string): boolean {
  return [...reader.list(persistentVolumeClaims)].some(
    (claim) => sourceOf(claim) === snapshotKey && isPending(claim),
  );
}

/** A snapshot that is not ready keeps its source, and a claim that waits to be restored keeps the snapshot. */
export function isKeptByRestore(
  world: World,
  { metadata: { namespace, name } }: PersistentVolumeClaim,
): boolean {
  return [...world.server.reader.list(volumeSnapshots)].some(
    (snapshot) =>
      snapshot.metadata.namespace === namespace &&
      snapshot.spec.source.persistentVolumeClaimName === name &&
      !isReadyToUse(snapshot) &&
      isAwaited(world, keyOf(snapshot)),
  );
}

/** Nothing that users did keeps the snapshot from being cut. */
function canBeCut(world: World, snapshot: VolumeSnapshot): boolean {
  const { reader } = world.server;
  const bound = snapshot.status?.boundVolumeSnapshotContentName;
  if (bound !== undefined) return reader.get(volumeSnapshotContents, { name: bound }) !== undefined;
  const name = snapshot.spec.source.persistentVolumeClaimName ?? '';
  const claim = reader.get(persistentVolumeClaims, { name, namespace: snapshot.metadata.namespace ?? '' });
  return claim !== undefined && isUsable(world, claim);
}

/** Bound, to a volume that exists, and not being deleted. */
function isUsable({ server: { reader } }: World, { metadata, spec, status }: PersistentVolumeClaim): boolean {
  if (metadata.deletionTimestamp || status?.phase !== 'Bound') return false;
  return reader.get(persistentVolumes, { name: spec.volumeName ?? '' }) !== undefined;
}

/** A member is deleted with its group snapshot, and not before. */
function isHeldByGroup({ server: { reader } }: World, snapshot: VolumeSnapshot): boolean {
  const owner = groupOwnerOf(snapshot);
  const { namespace = '' } = snapshot.metadata;
  return (
    owner !== undefined && reader.get(volumeGroupSnapshots, { name: owner.name, namespace }) !== undefined
  );
}

/** Whether the claim restores a snapshot that is not there, or cannot be used. */
export function lacksSource({ server: { reader } }: World, claim: PersistentVolumeClaim): boolean {
  const key = sourceOf(claim);
  if (key === undefined) return false;
  const snapshot = reader.get(volumeSnapshots, nameFromKey(key));
  return (
    snapshot === undefined || snapshot.metadata.deletionTimestamp !== undefined || !isReadyToUse(snapshot)
  );
}

/** `namespace/name` of the snapshot that the claim restores. */
export function sourceOf({ metadata, spec }: PersistentVolumeClaim): string | undefined {
  return spec.dataSource && `${metadata.namespace}/${spec.dataSource.name}`;
}

export function isPending({ status }: PersistentVolumeClaim): boolean {
  return (status?.phase ?? 'Pending') === 'Pending';
}

/** What is left of the snapshots that users deleted, as text. */
export function* snapshotRemains(world: World): Generator<string> {
  if (!hasSnapshots(world)) return;
  const { reader } = world.server;
  for (const resource of [volumeSnapshots, volumeGroupSnapshots]) {
    for (const object of reader.list(resource as typeof volumeSnapshots))
      yield `${resource.kind} ${keyOf(object)}`;
  }
  for (const resource of [volumeSnapshotContents, volumeGroupSnapshotContents]) {
    for (const content of reader.list(resource as typeof volumeSnapshotContents)) {
      if (content.spec.deletionPolicy === 'Delete') yield `${resource.kind} ${keyOf(content)}`;
    }
  }
}

/** Handles of snapshots and groups that were to be kept, whether or not their contents still exist. */
export function retainedSnapshots({ history }: World): Set<string> {
  const handles = new Set<string>();
  for (const entry of history.entries) {
    if (entry.kind !== 'api' || !/^volume(group)?snapshotcontents$/.test(entry.plural)) continue;
    const { spec, status } = (entry.after ?? entry.before) as VolumeSnapshotContent;
    if (spec.deletionPolicy !== 'Retain') continue;
    if (status?.snapshotHandle) handles.add(status.snapshotHandle);
    if (status?.volumeGroupSnapshotHandle) handles.add(status.volumeGroupSnapshotHandle);
  }
  // Members are kept with their group, even if nobody has made objects for them.
  for (const entry of history.entries)
    if (entry.kind === 'snapshot' && handles.has(entry.group)) handles.add(entry.snapshot);
  return handles;
}

function hasSnapshots({ plan }: World): boolean {
  return plan.snapshotClasses.length > 0;
}
