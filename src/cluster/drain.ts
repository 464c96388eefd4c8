// Deletes everything through the running cluster: pods and snapshots, then claims, then their volumes. For the end of an
// ephemeral cluster, so that drivers that keep running hold nothing of it.

import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { keyOf } from '../api/object.ts';
import type { ApiServer } from '../apiserver/index.ts';
import { ifThere } from '../runtime/kube/if-there.ts';
import type { Clock } from '../runtime/ports.ts';

/** What a driver has not deleted by then is reported and left. */
const WITHIN_MS = 20_000;
const LOOK_MS = 20;

/** Resolves with what is left, in words. */
export async function drain(
  server: Pick<ApiServer, 'client' | 'adminUser' | 'reader'>,
  { clock }: { clock: Clock },
): Promise<string[]> {
  const { reader } = server;
  const admin = server.client(server.adminUser);
  const deleteAll = async <T extends KubeObject>(resource: Resource<T>): Promise<void> => {
    for (const { metadata } of [...reader.list(resource)]) {
      await ifThere(admin.delete(resource, metadata, { gracePeriodSeconds: 0 }));
    }
  };
  const left = (): string[] => [
    ...[...reader.list(pods)].map((pod) => `pod ${keyOf(pod)}`),
    ...[...reader.list(volumeAttachments)].map(
      ({ metadata, spec }) =>
        `VolumeAttachment ${metadata.name} of ${spec.source.persistentVolumeName ?? 'an inline volume'} on ${spec.nodeName}`,
    ),
    ...[...reader.list(persistentVolumes)]
      .filter(({ spec }) => spec.persistentVolumeReclaimPolicy === 'Delete')
      .map(({ metadata, spec }) => `volume ${metadata.name} (${spec.csi?.volumeHandle ?? 'no handle'})`),
    ...[...reader.list(volumeSnapshotContents)]
      .filter(({ spec }) => spec.deletionPolicy === 'Delete')
      .map(({ status, spec }) => `snapshot ${status?.snapshotHandle ?? `of ${spec.source.volumeHandle}`}`),
    ...[...reader.list(volumeGroupSnapshotContents)]
      .filter(({ spec }) => spec.deletionPolicy === 'Delete')
      .map(({ status, metadata }) => `group snapshot ${status?.volumeGroupSnapshotHandle ?? metadata.name}`),
  ];
  await deleteAll(pods);
  // First: their members cannot be deleted alone.
  await deleteAll(volumeGroupSnapshots);
  await deleteAll(volumeSnapshots);
  await deleteAll(persistentVolumeClaims);
  const untilMs = clock.monotonicMs() + WITHIN_MS;
  while (left().length > 0 && clock.monotonicMs() < untilMs) await clock.sleep(LOOK_MS);
  return left().map((what) => `${what} could not be removed in time`);
}
