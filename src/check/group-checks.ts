// Checks that create, read, restore and delete group snapshots.

import type { VolumeGroupSnapshot } from '../csi/generated/csi/v1/csi_pb.ts';
import type { VolumeHandle } from '../csi/names/driver-name.ts';
import type { Check } from './check.ts';
import { CheckFailure, type DriverUnderTest, expect, NOWHERE, refuses } from './driver-under-test.ts';

const NEEDS = {
  needs: ['CREATE_DELETE_VOLUME'],
  needsOfGroup: ['CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'],
} as const;
const NO_GROUP = 'berth-check-no-such-group';

export const groupChecks: readonly Check[] = [
  {
    group: 'CreateVolumeGroupSnapshot',
    title: 'rejects requests without a name or without sources',
    section: 'createvolumegroupsnapshot-errors',
    ...NEEDS,
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      await refuses('without a name', cut(driver, '', [volumeId]), 'INVALID_ARGUMENT');
      await refuses('without sources', cut(driver, driver.name('group'), []), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'CreateVolumeGroupSnapshot',
    title: 'is idempotent, and snapshots each requested volume once',
    section: 'createvolumegroupsnapshot',
    ...NEEDS,
    async run(driver) {
      const volumes = await twoVolumes(driver);
      const name = driver.name('group');
      const first = await createGroup(driver, volumes, name);
      const again = await createGroup(driver, volumes, name);
      expect(
        first.groupSnapshotId === again.groupSnapshotId,
        `one name, two groups: ${first.groupSnapshotId}, then ${again.groupSnapshotId}`,
      );
      expect(first.creationTime !== undefined, 'creation_time of the group is missing');
      const sources = first.snapshots.map(({ sourceVolumeId }) => sourceVolumeId).toSorted();
      expect(
        sources.join() === volumes.toSorted().join(),
        `requested snapshots of [${volumes}], got those of [${sources}]`,
      );
      for (const { snapshotId, groupSnapshotId } of first.snapshots) {
        expect(snapshotId !== '', 'a snapshot of the group has no snapshot_id');
        expect(
          groupSnapshotId === first.groupSnapshotId,
          `snapshot ${snapshotId} has group_snapshot_id "${groupSnapshotId}", expected ${first.groupSnapshotId}`,
        );
      }
      const [before, after] = [first, again].map(memberIds);
      expect(before?.join() === after?.join(), `the group had snapshots [${before}], then [${after}]`);
    },
  },
  {
    group: 'CreateVolumeGroupSnapshot',
    title: 'rejects a name that is taken by a group of other volumes, and volumes that do not exist',
    section: 'createvolumegroupsnapshot-errors',
    ...NEEDS,
    async run(driver) {
      const [one, other] = await twoVolumes(driver);
      const name = driver.name('group');
      await createGroup(driver, [one], name);
      await refuses('other volumes', cut(driver, name, [one, other]), 'ALREADY_EXISTS');
      const missing = cut(driver, driver.name('group'), [one, NOWHERE]);
      await refuses('a volume that does not exist', missing, 'NOT_FOUND');
    },
  },
  {
    group: 'GetVolumeGroupSnapshot',
    title: 'returns the group with its snapshots, and rejects one that does not exist',
    section: 'getvolumegroupsnapshot-errors',
    ...NEEDS,
    async run(driver) {
      const made = await createGroup(driver, await twoVolumes(driver));
      const get = (groupSnapshotId: string, snapshotIds: string[]) =>
        driver.group.getVolumeGroupSnapshot({
          groupSnapshotId,
          snapshotIds,
          secrets: driver.options.secrets('GetVolumeGroupSnapshotSecret'),
        });
      const { groupSnapshot } = await get(made.groupSnapshotId, memberIds(made));
      expect(
        groupSnapshot?.groupSnapshotId === made.groupSnapshotId,
        `asked for group ${made.groupSnapshotId}, got ${groupSnapshot?.groupSnapshotId}`,
      );
      expect(
        memberIds(groupSnapshot).join() === memberIds(made).join(),
        `the group was made of [${memberIds(made)}], and is read with [${memberIds(groupSnapshot)}]`,
      );
      await refuses('without an ID', get('', []), 'INVALID_ARGUMENT');
      await refuses('a group that does not exist', get(NO_GROUP, []), 'NOT_FOUND');
    },
  },
  {
    group: 'DeleteVolumeGroupSnapshot',
    title: 'rejects a request without an ID, is idempotent, and deletes the snapshots of the group',
    section: 'deletevolumegroupsnapshot',
    ...NEEDS,
    async run(driver) {
      await refuses('without an ID', deleteGroup(driver, '', []), 'INVALID_ARGUMENT');
      await deleteGroup(driver, NO_GROUP, []);
      const made = await createGroup(driver, await twoVolumes(driver));
      await deleteGroup(driver, made.groupSnapshotId, memberIds(made));
      await deleteGroup(driver, made.groupSnapshotId, memberIds(made));
      if (!driver.can.controller.has('LIST_SNAPSHOTS')) return;
      for (const snapshotId of memberIds(made)) {
        const { entries } = await driver.controller.listSnapshots({
          snapshotId,
          secrets: driver.options.secrets('ListSnapshotsSecret'),
        });
        expect(entries.length === 0, `snapshot ${snapshotId} is still listed after its group was deleted`);
      }
    },
  },
  {
    group: 'CreateVolume',
    title: 'restores a snapshot of a group',
    section: 'createvolumegroupsnapshot',
    ...NEEDS,
    needs: ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT'],
    async run(driver) {
      const [snapshotId = ''] = memberIds(await createGroup(driver, await twoVolumes(driver)));
      const volumeContentSource = { type: { case: 'snapshot' as const, value: { snapshotId } } };
      await driver.createVolume(driver.name('restored'), { volumeContentSource });
    },
  },
];

async function twoVolumes(driver: DriverUnderTest): Promise<[VolumeHandle, VolumeHandle]> {
  return [(await driver.createVolume()).volumeId, (await driver.createVolume()).volumeId];
}

const memberIds = (group: VolumeGroupSnapshot | undefined): string[] =>
  (group?.snapshots ?? []).map(({ snapshotId }) => snapshotId).toSorted();

function cut({ group, options }: DriverUnderTest, name: string, sourceVolumeIds: VolumeHandle[]) {
  const secrets = options.secrets('CreateVolumeGroupSnapshotSecret');
  return group.createVolumeGroupSnapshot({ name, sourceVolumeIds, secrets });
}

function deleteGroup({ group, options }: DriverUnderTest, groupSnapshotId: string, snapshotIds: string[]) {
  const secrets = options.secrets('DeleteVolumeGroupSnapshotSecret');
  return group.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds, secrets });
}

async function createGroup(
  driver: DriverUnderTest,
  volumes: VolumeHandle[],
  name = driver.name('group'),
): Promise<VolumeGroupSnapshot> {
  const { groupSnapshot } = await cut(driver, name, volumes);
  if (groupSnapshot === undefined || groupSnapshot.groupSnapshotId === '') {
    throw new CheckFailure(
      'CreateVolumeGroupSnapshot succeeded without an ID: group_snapshot.group_snapshot_id is empty',
    );
  }
  driver.undo(() => deleteGroup(driver, groupSnapshot.groupSnapshotId, memberIds(groupSnapshot)));
  return groupSnapshot;
}
