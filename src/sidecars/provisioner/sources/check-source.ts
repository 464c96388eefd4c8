// Whether a snapshot or a claim can be the source of a new volume, and under which ID the driver knows it. Pure.

import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '../../../api/kinds.ts';
import { quantityToBytes } from '../../../api/quantity.ts';
import { isBlock } from '../../../api/volumes.ts';
import { FINALIZER_SNAPSHOT_SOURCE_PROTECTION } from '../../../api/well-known.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';
import { ClaimProblem, permanentProblem } from '../planning/claim-problem.ts';

const ANN_ALLOW_MODE_CHANGE = 'snapshot.storage.kubernetes.io/allow-volume-mode-change';
/** The values that Go's ParseBool accepts. */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** The snapshot's ID. Throws a ClaimProblem. */
export function snapshotIdFor(
  claim: PersistentVolumeClaim,
  sources: { snapshot: VolumeSnapshot; content: VolumeSnapshotContent },
  rules: { driver: DriverName; preventVolumeModeConversion: boolean },
): string {
  const { snapshot, content } = sources;
  const name = `snapshot ${snapshot.metadata.name}`;
  const { volumeSnapshotRef: ref, driver, sourceVolumeMode } = content.spec;
  // A restore that has started continues: the snapshot is still protected.
  const begun = hasFinalizer(snapshot, FINALIZER_SNAPSHOT_SOURCE_PROTECTION);
  if (snapshot.metadata.deletionTimestamp && !begun) throw new ClaimProblem(`${name} is being deleted`);
  const { uid, namespace } = snapshot.metadata;
  if (ref.uid !== uid || ref.namespace !== namespace || ref.name !== snapshot.metadata.name) {
    throw new ClaimProblem(
      `snapshotcontent ${content.metadata.name} for ${name} is bound to a different snapshot`,
    );
  }
  if (driver !== rules.driver) {
    throw permanentProblem(`${name} was created by driver ${driver}, not by ${rules.driver}`);
  }
  if (!snapshot.status?.readyToUse) throw new ClaimProblem(`${name} is not ready`);
  const id = content.status?.snapshotHandle;
  if (!id) throw new ClaimProblem(`the handle of ${name} is not available yet`);
  const { restoreSize } = snapshot.status;
  if (restoreSize !== undefined && requestOf(claim) < quantityToBytes(restoreSize)) {
    throw permanentProblem(
      `the claim asks for ${requestOf(claim)} bytes, less than the ${quantityToBytes(restoreSize)} of ${name}`,
    );
  }
  const wanted = isBlock(claim) ? 'Block' : 'Filesystem';
  const allowed = TRUE.has(content.metadata.annotations?.[ANN_ALLOW_MODE_CHANGE] ?? '');
  if (rules.preventVolumeModeConversion && sourceVolumeMode && sourceVolumeMode !== wanted && !allowed) {
    throw permanentProblem(
      `${name} is of a ${sourceVolumeMode} volume and the claim requests ${wanted}; that requires the annotation ` +
        `${ANN_ALLOW_MODE_CHANGE}: "true" on snapshotcontent ${content.metadata.name}`,
    );
  }
  return id;
}

/** The volume's ID. Throws a ClaimProblem. */
export function cloneSourceIdFor(
  claim: PersistentVolumeClaim,
  sources: { source: PersistentVolumeClaim; volume: PersistentVolume | undefined },
  driver: DriverName,
): string {
  const { source, volume } = sources;
  const name = `source claim ${source.metadata.name}`;
  if (source.metadata.deletionTimestamp) throw new ClaimProblem(`${name} is being deleted`);
  if (source.status?.phase !== 'Bound' || !source.spec.volumeName) {
    throw new ClaimProblem(`${name} is not bound`);
  }
  const csi = volume?.spec.csi;
  if (
    !volume ||
    !csi ||
    volume.spec.claimRef?.uid !== source.metadata.uid ||
    volume.status?.phase !== 'Bound'
  ) {
    throw new ClaimProblem(`${name} is not properly bound to a CSI volume`);
  }
  if (csi.driver !== driver) {
    throw permanentProblem(`the volume of ${name} belongs to driver ${csi.driver}, not to ${driver}`);
  }
  if (requestOf(claim) < requestOf(source)) {
    throw permanentProblem(
      `the claim asks for ${requestOf(claim)} bytes, less than the ${requestOf(source)} of ${name}`,
    );
  }
  if (isBlock(claim) !== isBlock(volume)) {
    throw permanentProblem(`the claim and ${name} must have the same volume mode`);
  }
  return csi.volumeHandle;
}

function requestOf(claim: PersistentVolumeClaim): bigint {
  return quantityToBytes(claim.spec.resources?.requests?.storage ?? '0');
}
