// Which VolumeGroupSnapshotContent a group snapshot of claims needs, and its class; or the problem, as a message for the
// user. Pure.

import { dynamicGroupContentName, isDefaultGroupSnapshotClass } from '../../api/group-snapshots.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshots,
} from '../../api/kinds.ts';
import { apiVersionOf, type Draft } from '../../api/object.ts';
import { groupSnapshotSecret } from '../../api/snapshot-secrets.ts';
import {
  ANN_GROUP_SNAPSHOT_SECRET_NAME,
  ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE,
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_GROUP_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import type { DriverName, VolumeHandle } from '../../csi/names/driver-name.ts';
import { hasFinalizer } from '../../runtime/kube/finalizers.ts';
import { boundVolume, type Failure } from '../snapshot/plan-content.ts';

export interface GroupPlan {
  groupClass: VolumeGroupSnapshotClass;
  claims: readonly PersistentVolumeClaim[];
  draft: Draft<VolumeGroupSnapshotContent>;
}

export interface GroupPlanFacts {
  group: VolumeGroupSnapshot;
  /** Those that the selector finds, each with the volume that it is bound to. */
  claims: readonly { claim: PersistentVolumeClaim; volume: PersistentVolume | undefined }[];
  classes: readonly VolumeGroupSnapshotClass[];
}

const CREATION_FAILED = 'GroupSnapshotContentCreationFailed';
const failure = (message: string, reason = CREATION_FAILED): Failure => ({ reason, message });

export function planGroupContent({ group, claims, classes }: GroupPlanFacts): GroupPlan | Failure {
  if (claims.length === 0)
    return failure('the selector finds no claim in the namespace of the group snapshot');
  const volumes: { claim: string; driver: DriverName; handle: VolumeHandle }[] = [];
  for (const { claim, volume } of claims) {
    const bound = boundVolume(claim, volume);
    if ('message' in bound) return failure(bound.message);
    // A claim that is protected already waits for the group snapshot; both would wait for ever.
    const isProtected = hasFinalizer(claim, FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE);
    if (claim.metadata.deletionTimestamp !== undefined && !isProtected) {
      return failure(`claim "${claim.metadata.name}" is being deleted`);
    }
    const handle = (bound.volume.spec.csi?.volumeHandle ?? '') as VolumeHandle;
    volumes.push({ claim: claim.metadata.name, driver: bound.driver, handle });
  }
  const [first] = volumes;
  const groupClass = chooseClass(group, first?.driver ?? ('' as DriverName), classes);
  if ('reason' in groupClass) return groupClass;
  const other = volumes.find(({ driver }) => driver !== groupClass.driver);
  if (other !== undefined) {
    return failure(
      `VolumeGroupSnapshotClass "${groupClass.metadata.name}" is for driver ${groupClass.driver}, but the volume of ` +
        `claim "${other.claim}" is of driver ${other.driver}: a group snapshot has volumes of one driver`,
    );
  }
  const { name, namespace = '', uid } = group.metadata;
  const contentName = dynamicGroupContentName(group);
  const answer = groupSnapshotSecret('group-snapshotter', groupClass.parameters ?? {}, {
    contentName,
    snapshot: { name, namespace },
  });
  if ('problem' in answer) return failure(answer.problem);
  const { secret } = answer;
  return {
    groupClass,
    claims: claims.map(({ claim }) => claim),
    draft: {
      metadata: {
        name: contentName,
        // Set at creation: a content without it could be deleted while the driver creates the group snapshot.
        finalizers: [FINALIZER_GROUP_SNAPSHOT_CONTENT],
        ...(secret && {
          annotations: {
            [ANN_GROUP_SNAPSHOT_SECRET_NAME]: secret.name ?? '',
            [ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE]: secret.namespace ?? '',
          },
        }),
      },
      spec: {
        driver: groupClass.driver,
        deletionPolicy: groupClass.deletionPolicy,
        volumeGroupSnapshotClassName: groupClass.metadata.name,
        source: { volumeHandles: volumes.map(({ handle }) => handle) },
        volumeGroupSnapshotRef: {
          apiVersion: apiVersionOf(volumeGroupSnapshots),
          kind: volumeGroupSnapshots.kind,
          name,
          namespace,
          uid,
        },
      },
    },
  };
}

function chooseClass(
  { spec }: VolumeGroupSnapshot,
  driver: DriverName,
  classes: readonly VolumeGroupSnapshotClass[],
): VolumeGroupSnapshotClass | Failure {
  const { volumeGroupSnapshotClassName: wanted } = spec;
  if (wanted !== undefined) {
    const found = classes.find(({ metadata }) => metadata.name === wanted);
    return found ?? failure(`VolumeGroupSnapshotClass "${wanted}" does not exist`);
  }
  const defaults = classes.filter((each) => each.driver === driver && isDefaultGroupSnapshotClass(each));
  const [first] = defaults;
  if (first !== undefined && defaults.length === 1) return first;
  const names = defaults.map(({ metadata }) => metadata.name).toSorted();
  return failure(
    names.length === 0
      ? `the group snapshot names no class, and no VolumeGroupSnapshotClass is the default of driver ${driver}`
      : `the group snapshot names no class, and ${names.join(', ')} are all defaults of driver ${driver}`,
    'SetDefaultGroupSnapshotClassFailed',
  );
}
