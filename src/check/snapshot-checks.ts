// Checks that create, list, restore and delete snapshots.

import type { Snapshot } from '../csi/generated/csi/v1/csi_pb.ts';
import type { SnapshotHandle, VolumeHandle } from '../csi/names/driver-name.ts';
import type { Check } from './check.ts';
import { CheckFailure, type DriverUnderTest, expect, refuses } from './driver-under-test.ts';

const SNAPS = ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT'] as const;

export const snapshotChecks: readonly Check[] = [
  {
    group: 'CreateSnapshot',
    title: 'rejects requests without a name or a source',
    section: 'createsnapshot-errors',
    needs: SNAPS,
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      await refuses(
        'without a name',
        snap(driver, { name: '', sourceVolumeId: volumeId }),
        'INVALID_ARGUMENT',
      );
      const name = driver.name('snapshot');
      await refuses('without a source', snap(driver, { name, sourceVolumeId: '' }), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'CreateSnapshot',
    title: 'is idempotent, and snapshots the requested volume',
    section: 'createsnapshot',
    needs: SNAPS,
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      const name = driver.name('snapshot');
      const first = await createSnapshot(driver, volumeId, name);
      const again = await createSnapshot(driver, volumeId, name);
      expect(
        first.snapshotId === again.snapshotId,
        `one name, two snapshots: ${first.snapshotId}, then ${again.snapshotId}`,
      );
      expect(
        first.sourceVolumeId === volumeId,
        `requested a snapshot of ${volumeId}, got one of ${first.sourceVolumeId}`,
      );
      expect(first.creationTime !== undefined, 'creation_time is missing');
    },
  },
  {
    group: 'CreateSnapshot',
    title: 'rejects a name that is taken by a snapshot of another volume',
    section: 'createsnapshot-errors',
    needs: SNAPS,
    async run(driver) {
      const [one, other] = [await driver.createVolume(), await driver.createVolume()];
      const name = driver.name('snapshot');
      await createSnapshot(driver, one.volumeId, name);
      await refuses(
        'another source',
        snap(driver, { name, sourceVolumeId: other.volumeId }),
        'ALREADY_EXISTS',
      );
    },
  },
  {
    group: 'DeleteSnapshot',
    title: 'rejects a request without an ID, and is idempotent for a snapshot that does not exist',
    section: 'deletesnapshot-errors',
    needs: SNAPS,
    async run(driver) {
      await refuses('without an ID', deleteSnapshot(driver, '' as SnapshotHandle), 'INVALID_ARGUMENT');
      await deleteSnapshot(driver, 'berth-check-no-such-snapshot' as SnapshotHandle);
      const { snapshotId } = await createSnapshot(driver, (await driver.createVolume()).volumeId);
      await deleteSnapshot(driver, snapshotId);
      await deleteSnapshot(driver, snapshotId);
    },
  },
  {
    group: 'ListSnapshots',
    title: 'filters by snapshot ID and by source volume, and returns an empty list when none matches',
    section: 'listsnapshots',
    needs: [...SNAPS, 'LIST_SNAPSHOTS'],
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      const { snapshotId } = await createSnapshot(driver, volumeId);
      const find = async (by: object): Promise<string[]> => {
        const { entries } = await driver.controller.listSnapshots({
          ...by,
          secrets: driver.options.secrets('ListSnapshotsSecret'),
        });
        return entries.map(({ snapshot }) => snapshot?.snapshotId ?? '');
      };
      for (const [by, wanted] of [
        [{ snapshotId }, [snapshotId]],
        [{ sourceVolumeId: volumeId }, [snapshotId]],
        [{ snapshotId: 'berth-check-none' }, []],
        [{ sourceVolumeId: 'berth-check-none' }, []],
      ] as const) {
        const found = await find(by);
        expect(
          found.join() === wanted.join(),
          `by ${Object.keys(by)[0]}: expected [${wanted}], got [${found}]`,
        );
      }
    },
  },
  {
    group: 'CreateVolume',
    title: 'restores a snapshot, and rejects one that does not exist',
    section: 'createvolume',
    needs: SNAPS,
    async run(driver) {
      const { snapshotId } = await createSnapshot(driver, (await driver.createVolume()).volumeId);
      const from = (id: string) => ({
        volumeContentSource: { type: { case: 'snapshot' as const, value: { snapshotId: id } } },
      });
      await driver.createVolume(driver.name('restored'), from(snapshotId));
      const request = { ...driver.createRequest(driver.name('restored')), ...from('berth-check-none') };
      await refuses('a snapshot that does not exist', driver.controller.createVolume(request), 'NOT_FOUND');
    },
  },
];

function snap({ controller, options }: DriverUnderTest, request: { name: string; sourceVolumeId: string }) {
  return controller.createSnapshot({ ...request, secrets: options.secrets('CreateSnapshotSecret') });
}

function deleteSnapshot(
  { controller, options }: DriverUnderTest,
  snapshotId: SnapshotHandle,
): Promise<unknown> {
  return controller.deleteSnapshot({ snapshotId, secrets: options.secrets('DeleteSnapshotSecret') });
}

export async function createSnapshot(
  driver: DriverUnderTest,
  sourceVolumeId: VolumeHandle,
  name = driver.name('snapshot'),
): Promise<Omit<Snapshot, 'snapshotId'> & { snapshotId: SnapshotHandle }> {
  const { snapshot } = await snap(driver, { name, sourceVolumeId });
  if (snapshot === undefined || snapshot.snapshotId === '') {
    throw new CheckFailure('CreateSnapshot succeeded without a snapshot ID: snapshot.snapshot_id is empty');
  }
  const snapshotId = snapshot.snapshotId as SnapshotHandle;
  driver.undo(() => deleteSnapshot(driver, snapshotId));
  return { ...snapshot, snapshotId };
}
