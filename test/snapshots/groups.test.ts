// Group snapshots through the real controller, snapshotter and API server, with a scripted driver.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  persistentVolumeClaims,
  type VolumeGroupSnapshot,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import { FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE, FINALIZER_SNAPSHOT_IN_GROUP } from '../../src/api/well-known.ts';
import type {
  CreateVolumeGroupSnapshotRequest,
  DeleteVolumeGroupSnapshotRequest,
} from '../../src/csi/generated/csi/v1/csi_pb.ts';
import {
  addClaim,
  claimIsFree,
  GROUP,
  groupGone,
  groupReady,
  groupWorld,
  makeGroup,
  makeGroupClass,
  membersOf,
  nothingIsLeft,
  untilGroup,
} from './group-world.ts';
import { DRIVER, makeSecret, within } from './world.ts';

test('[GRP-1] one call for all claims of the selector, and each member becomes a snapshot with its content', async (t) => {
  const world = await groupWorld(t);
  await world.makeBoundClaim('other');
  await makeGroupClass(world, { parameters: { speed: 'high' } });
  await world.start();
  const group = await makeGroup(world);
  const ready = await groupReady(world);
  const requests = world.driver.callsOf<CreateVolumeGroupSnapshotRequest>('CreateVolumeGroupSnapshot');
  assert.equal(requests.length, 1);
  assert.equal(requests[0]?.name, `groupsnapshot-${group.metadata.uid}`);
  assert.deepEqual(requests[0]?.sourceVolumeIds, ['vol-data', 'vol-log']);
  assert.deepEqual(requests[0]?.parameters, { speed: 'high' });
  assert.equal(world.driver.callsOf('CreateSnapshot').length, 0);
  assert.equal(ready?.status?.creationTime, '2023-11-14T22:13:20Z');

  const name = `groupsnapcontent-${group.metadata.uid}`;
  assert.equal(ready?.status?.boundVolumeGroupSnapshotContentName, name);
  const content = await world.admin.get(volumeGroupSnapshotContents, { name });
  assert.deepEqual(
    content.status?.volumeSnapshotInfoList?.map(({ volumeHandle }) => volumeHandle),
    ['vol-data', 'vol-log'],
  );
  const members = await membersOf(world);
  assert.deepEqual(members.map(({ spec }) => spec.source.persistentVolumeClaimName).toSorted(), [
    'data',
    'log',
  ]);
  for (const member of members) {
    assert.equal(member.status?.readyToUse, true);
    assert.equal(member.status?.volumeGroupSnapshotName, 'all');
    assert.equal(member.status?.restoreSize, '1Gi');
    assert.equal(member.metadata.ownerReferences?.[0]?.uid, group.metadata.uid);
    const bound = member.status?.boundVolumeSnapshotContentName ?? '';
    const { spec, status } = await world.admin.get(volumeSnapshotContents, { name: bound });
    assert.equal(spec.volumeSnapshotRef.uid, member.metadata.uid);
    assert.equal(status?.volumeGroupSnapshotHandle, content.status?.volumeGroupSnapshotHandle);
    assert.equal(
      status?.snapshotHandle,
      `snap-groupsnapshot-${group.metadata.uid}-${spec.source.volumeHandle}`,
    );
  }
  await world.event('CreatingGroupSnapshot');
  await world.event('GroupSnapshotCreated');
  await world.event('GroupSnapshotReady');
  for (const claim of ['data', 'log']) await claimIsFree(world, claim);
});

test('[GRP-1] a group is ready when all its members are', async (t) => {
  const world = await groupWorld(t);
  world.driver.snapshotsAreReady = false;
  await makeGroupClass(world);
  await world.start();
  await makeGroup(world);
  const cut = await untilGroup(world, (group) => group?.status?.creationTime !== undefined);
  assert.equal(cut?.status?.readyToUse, false);
  // While the driver uploads, the claims are kept.
  const claim = await world.admin.get(persistentVolumeClaims, { name: 'data', namespace: 'default' });
  assert.ok(claim.metadata.finalizers?.includes(FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE));
  for (const snapshot of world.driver.snapshots.values()) snapshot.ready = true;
  await groupReady(world);
  assert.ok((await membersOf(world)).every(({ status }) => status?.readyToUse));
  for (const name of ['data', 'log']) await claimIsFree(world, name);
});

test('[GRP-2] a member is not deleted alone; with the group everything goes, in one call', async (t) => {
  const world = await groupWorld(t);
  await makeGroupClass(world);
  await world.start();
  await makeGroup(world);
  await groupReady(world);
  const [member] = await membersOf(world);
  const name = member?.metadata.name ?? '';
  assert.ok(member?.metadata.finalizers?.includes(FINALIZER_SNAPSHOT_IN_GROUP));
  await world.admin.delete(volumeSnapshots, { name, namespace: 'default' });
  await world.event('SnapshotDeletePending', 'member of group snapshot "all"; delete that instead');
  assert.equal(world.driver.snapshots.size, 2);
  await world.admin.delete(volumeGroupSnapshots, GROUP);
  await groupGone(world);
  assert.equal(world.driver.snapshots.size, 0);
  assert.equal(world.driver.groups.size, 0);
  assert.equal(world.driver.callsOf('DeleteSnapshot').length, 0);
  const deletions = world.driver.callsOf<DeleteVolumeGroupSnapshotRequest>('DeleteVolumeGroupSnapshot');
  assert.equal(deletions.length, 1);
  assert.equal(deletions[0]?.snapshotIds.length, 2);
  await nothingIsLeft(world);
});

test('[GRP-2] a group whose class retains leaves the storage and the contents alone', async (t) => {
  const world = await groupWorld(t);
  await makeGroupClass(world, { deletionPolicy: 'Retain' });
  await world.start();
  await makeGroup(world);
  await groupReady(world);
  await world.admin.delete(volumeGroupSnapshots, GROUP);
  await groupGone(world);
  assert.equal(world.driver.groups.size, 1);
  assert.deepEqual(await membersOf(world), []);
  assert.equal((await world.admin.list(volumeSnapshotContents)).items.length, 2);
  assert.equal((await world.admin.list(volumeGroupSnapshotContents)).items.length, 1);
});

test('[GRP-2] a group is not deleted while a volume is restored from a member', async (t) => {
  const world = await groupWorld(t);
  await makeGroupClass(world);
  await world.start();
  await makeGroup(world);
  await groupReady(world);
  const [member] = await membersOf(world);
  const dataSource = {
    apiGroup: 'snapshot.storage.k8s.io',
    kind: 'VolumeSnapshot',
    name: member?.metadata.name ?? '',
  };
  await world.make(persistentVolumeClaims, {
    metadata: { name: 'restored', namespace: 'default' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      resources: { requests: { storage: '1Gi' } },
      dataSource,
    },
  });
  await world.claims.waitFor('default/restored', (claim) => claim !== undefined, within());
  await world.admin.delete(volumeGroupSnapshots, GROUP);
  await world.event('SnapshotDeletePending', 'for claim "restored"');
  assert.equal(world.driver.groups.size, 1);
  const status = { type: 'merge', subresource: 'status' } as const;
  const bound = { status: { phase: 'Bound' } };
  await world.admin.patch(persistentVolumeClaims, { name: 'restored', namespace: 'default' }, bound, status);
  await nothingIsLeft(world);
});

test('[GRP-2] a group made beforehand: bound, looked at, its members joined, deleted as its policy says', async (t) => {
  const world = await groupWorld(t);
  await world.start();
  for (const handle of ['one', 'two']) {
    const volumeId = handle === 'one' ? 'vol-data' : 'vol-log';
    const of = { volumeId, sizeBytes: 5n, parameters: {}, ready: true, groupId: 'old' };
    world.driver.snapshots.set(handle, { id: handle, name: handle, ...of });
  }
  world.driver.groups.set('old', { id: 'old', name: 'old', snapshotIds: ['one', 'two'], parameters: {} });
  await world.make(volumeGroupSnapshotContents, {
    metadata: { name: 'prepared' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: {
        groupSnapshotHandles: { volumeGroupSnapshotHandle: 'old', volumeSnapshotHandles: ['one', 'two'] },
      },
      volumeGroupSnapshotRef: GROUP,
    },
  });
  for (const name of ['one', 'two']) {
    await world.make(volumeSnapshotContents, {
      metadata: { name },
      spec: {
        driver: DRIVER,
        deletionPolicy: 'Delete',
        source: { snapshotHandle: name },
        volumeSnapshotRef: { name, namespace: 'default' },
      },
    });
    const spec = { source: { volumeSnapshotContentName: name } };
    await world.make(volumeSnapshots, { metadata: { name, namespace: 'default' }, spec });
  }
  const source = { volumeGroupSnapshotContentName: 'prepared' };
  await makeGroup(world, { source, volumeGroupSnapshotClassName: undefined });
  await groupReady(world);
  for (const name of ['one', 'two']) {
    const member = await world.snapshot(name, ({ status }) => status?.volumeGroupSnapshotName === 'all');
    assert.ok(member.metadata.finalizers?.includes(FINALIZER_SNAPSHOT_IN_GROUP));
    assert.equal(member.metadata.ownerReferences?.[0]?.name, 'all');
  }
  await world.admin.delete(volumeGroupSnapshots, GROUP);
  await nothingIsLeft(world);
});

test("[GRP-2] the group class's secret goes with each call, and never into a message", async (t) => {
  const world = await groupWorld(t);
  await makeSecret(world.admin, ['vault', 'all'], { password: 'hunter2' });
  await makeGroupClass(world, {
    parameters: {
      'csi.storage.k8s.io/group-snapshotter-secret-name': `\${volumegroupsnapshot.name}`,
      'csi.storage.k8s.io/group-snapshotter-secret-namespace': 'vault',
    },
  });
  world.driver.script('CreateVolumeGroupSnapshot', { fail: 'INTERNAL', message: 'hunter2 is wrong' });
  await world.start();
  await makeGroup(world);
  await groupReady(world);
  await world.admin.delete(volumeGroupSnapshots, GROUP);
  await nothingIsLeft(world);
  for (const call of ['CreateVolumeGroupSnapshot', 'DeleteVolumeGroupSnapshot']) {
    for (const request of world.driver.callsOf<CreateVolumeGroupSnapshotRequest>(call)) {
      assert.deepEqual(request.secrets, { password: 'hunter2' });
      assert.deepEqual((request as { parameters?: object }).parameters ?? {}, {});
    }
  }
  const said = [...world.log.lines, ...world.events.list().map(({ message }) => message)];
  assert.ok(!JSON.stringify(said).includes('hunter2'));
});

test('[GRP-3] what cannot be done is said in the status and in an event, and goes on when it can', async (t) => {
  const world = await groupWorld(t);
  await world.start();
  await makeGroup(world, { source: { selector: { matchLabels: { app: 'nobody' } } } });
  await world.event('GroupSnapshotContentCreationFailed', 'the selector finds no claim');
  const told = await untilGroup(world, (group) => group?.status?.error?.message !== undefined);
  assert.match(told?.status?.error?.message ?? '', /finds no claim/);
  await world.admin.delete(volumeGroupSnapshots, GROUP);
  await groupGone(world);

  await makeGroup(world);
  await world.event(
    'GroupSnapshotContentCreationFailed',
    'VolumeGroupSnapshotClass "together" does not exist',
  );
  await addClaim(world, 'foreign', 'other.csi.test');
  await makeGroupClass(world);
  await world.event('GroupSnapshotContentCreationFailed', 'claim "foreign" is of driver other.csi.test');
  const labels = { metadata: { labels: { app: null } } };
  const foreign = { name: 'foreign', namespace: 'default' };
  await world.admin.patch(persistentVolumeClaims, foreign, labels, { type: 'merge' });
  await groupReady(world);
});

test('[GRP-3] a driver that answers without a member leaves the group unready, and says which', async (t) => {
  const world = await groupWorld(t);
  await makeGroupClass(world);
  const groupSnapshot = { groupSnapshotId: 'g', readyToUse: true, snapshots: [] };
  world.driver.always('CreateVolumeGroupSnapshot', { answer: { groupSnapshot } });
  await world.start();
  await makeGroup(world);
  await world.event('GroupSnapshotIncomplete', 'no snapshot of volume vol-data in group snapshot g');
  const group = await untilGroup(
    world,
    ({ status } = {} as VolumeGroupSnapshot) => status?.error !== undefined,
  );
  assert.equal(group?.status?.readyToUse, false);
});

test('[GRP-3] a group that was made and whose answer was lost is asked for again, and deleted', async (t) => {
  const world = await groupWorld(t);
  await makeGroupClass(world);
  world.driver.always('CreateVolumeGroupSnapshot', { failAfter: 'DEADLINE_EXCEEDED' });
  await world.start();
  await makeGroup(world);
  await world.event('GroupSnapshotCreationFailed', 'DEADLINE_EXCEEDED');
  await world.admin.delete(volumeGroupSnapshots, GROUP);
  await untilGroup(world, (group) => group?.metadata.deletionTimestamp !== undefined);
  const asked = world.driver.callsOf('CreateVolumeGroupSnapshot').length;
  await world.driver.until(() => world.driver.callsOf('CreateVolumeGroupSnapshot').length > asked);
  assert.equal(world.driver.groups.size, 1);
  world.driver.always('CreateVolumeGroupSnapshot', undefined);
  await nothingIsLeft(world);
});

test('[GRP-3] a driver without the capability is named on the group, which can be deleted', async (t) => {
  const world = await groupWorld(t, {});
  await makeGroupClass(world);
  await world.start();
  await makeGroup(world);
  const told = await untilGroup(world, (group) => group?.status?.error?.message !== undefined);
  assert.match(
    told?.status?.error?.message ?? '',
    /driver scripted.csi.test takes no group snapshots: it does not report CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT/,
  );
  await world.event('GroupSnapshotCreationFailed', 'takes no group snapshots');
  await world.admin.delete(volumeGroupSnapshots, GROUP);
  await nothingIsLeft(world);
});
