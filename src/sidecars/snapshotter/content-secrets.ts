// Which Secret each call about a content uses. Pure: throws a SnapshotProblem for an invalid reference in the class.

import type { SecretReference, VolumeSnapshotClass, VolumeSnapshotContent } from '../../api/kinds.ts';
import { snapshotSecret } from '../../api/snapshot-secrets.ts';
import { isOfGroup } from '../../api/snapshots.ts';
import { ANN_SNAPSHOT_SECRET_NAME, ANN_SNAPSHOT_SECRET_NAMESPACE } from '../../api/well-known.ts';
import { SnapshotProblem } from './snapshot-problem.ts';

/** For CreateSnapshot and DeleteSnapshot: resolved by the snapshot controller when it created the content. */
export function annotatedSecret({ metadata }: VolumeSnapshotContent): SecretReference | undefined {
  const name = metadata.annotations?.[ANN_SNAPSHOT_SECRET_NAME];
  const namespace = metadata.annotations?.[ANN_SNAPSHOT_SECRET_NAMESPACE];
  // An incomplete reference is kept: the error when it is read says what is missing.
  return name === undefined && namespace === undefined
    ? undefined
    : { name: name ?? '', namespace: namespace ?? '' };
}

/** For ListSnapshots and GetSnapshot. */
export function secretToLook(
  content: VolumeSnapshotContent,
  snapshotClass: VolumeSnapshotClass | undefined,
): SecretReference | undefined {
  if (isOfGroup(content)) return annotatedSecret(content);
  const { volumeSnapshotClassName } = content.spec;
  if (volumeSnapshotClassName === undefined) return undefined;
  if (snapshotClass === undefined) {
    throw new SnapshotProblem(`VolumeSnapshotClass "${volumeSnapshotClassName}" does not exist`);
  }
  const values = { contentName: content.metadata.name };
  const reference = snapshotSecret('snapshotter-list', snapshotClass.parameters ?? {}, values);
  if ('problem' in reference) throw new SnapshotProblem(reference.problem);
  return reference.secret;
}
