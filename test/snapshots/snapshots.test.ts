// Snapshots through the real snapshot controller and snapshotter, on the real API server, with a scripted driver.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  nodes,
  persistentVolumeClaims,
  secrets,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import {
  ANN_DEFAULT_SNAPSHOT_CLASS,
  ANN_RETRY,
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_BEING_DELETED,
  ANN_SNAPSHOT_PARAMETERS,
  ANN_SNAPSHOT_SECRET_NAME,
  ANN_SNAPSHOT_SECRET_NAMESPACE,
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_SNAPSHOT_AS_SOURCE,
  FINALIZER_SNAPSHOT_BOUND,
  FINALIZER_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_SOURCE_PROTECTION,
  LABEL_SNAPSHOT_MANAGED_BY,
} from '../../src/api/well-known.ts';
import type { CreateSnapshotRequest, ListSnapshotsRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { DRIVER, makeSecret, snapshotWorld, type World, within } from './world.ts';

const named = (name: string) => ({ name, namespace: 'default' });
const isFree = (world: World) =>
  world.claims.waitFor(
    'default/data',
    (claim) => !claim?.metadata.finalizers?.includes(FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE),
    within(),
  );

test('[SIDE-2] a snapshot of a claim is made, ready, and deleted with everything it had', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass({ parameters: { color: 'blue' } });
  await world.start();
  const made = await world.makeSnapshot('snap');
  const { snapshot, content } = await world.ready('snap');
  const [request] = world.driver.callsOf<CreateSnapshotRequest>('CreateSnapshot');
  assert.equal(request?.name, `snapshot-${made.metadata.uid}`);
  assert.equal(request?.sourceVolumeId, 'vol-data');
  assert.deepEqual(request?.parameters, { color: 'blue' });

  assert.equal(content.metadata.name, `snapcontent-${made.metadata.uid}`);
  assert.deepEqual(content.metadata.finalizers, [FINALIZER_SNAPSHOT_CONTENT]);
  assert.equal(content.spec.sourceVolumeMode, 'Filesystem');
  assert.deepEqual(content.spec.source, { volumeHandle: 'vol-data' });
  assert.deepEqual(
    { ...content.status },
    {
      snapshotHandle: `snap-snapshot-${made.metadata.uid}`,
      readyToUse: true,
      creationTime: Number(1_700_000_000_000_000_005n),
      restoreSize: 2 ** 30,
    },
  );
  assert.deepEqual(snapshot.status, {
    boundVolumeSnapshotContentName: content.metadata.name,
    readyToUse: true,
    creationTime: '2023-11-14T22:13:20Z',
    restoreSize: '1Gi',
  });
  assert.deepEqual(snapshot.metadata.finalizers?.toSorted(), [
    FINALIZER_SNAPSHOT_AS_SOURCE,
    FINALIZER_SNAPSHOT_BOUND,
  ]);
  for (const reason of ['CreatingSnapshot', 'SnapshotCreated', 'SnapshotReady']) await world.event(reason);
  await isFree(world);
  await world.content(
    content.metadata.name,
    (each) =>
      each !== undefined &&
      !(ANN_SNAPSHOT_BEING_CREATED in (each.metadata.annotations ?? {})) &&
      !(ANN_SNAPSHOT_PARAMETERS in (each.metadata.annotations ?? {})),
  );

  await world.admin.delete(volumeSnapshots, named('snap'));
  await world.snapshotGone('snap');
  await world.content(content.metadata.name, (each) => each === undefined);
  assert.equal(world.driver.snapshots.size, 0);
  const told = world.metrics.text();
  for (const operation of ['CreateSnapshot', 'CreateSnapshotAndReady', 'DeleteSnapshot']) {
    const line = `snapshot_controller_operation_total_seconds_count{driver_name="${DRIVER}",operation_name="${operation}",snapshot_type="dynamic",operation_status="success"} 1`;
    assert.ok(told.includes(line), `${operation} in\n${told}`);
  }
  assert.match(told, /snapshot_controller_operations_in_flight 0/);
});

test('[SIDE-2] a retry that somebody asks for does not wait for the backoff', async (t) => {
  const world = await snapshotWorld(t);
  world.driver.script('CreateSnapshot', { fail: 'INTERNAL', message: 'the array is away' });
  await world.makeBoundClaim('data');
  await world.makeClass();
  world.startController();
  await world.startSnapshotter({ options: { retryStartMs: 600_000, retryMaxMs: 600_000 } });
  await world.makeSnapshot('snap');
  const { message } = await world.event('SnapshotCreationFailed', 'the array is away');
  assert.ok(message);
  const [content] = world.contents.list();
  await world.admin.patch(
    volumeSnapshotContents,
    { name: content?.metadata.name ?? '' },
    { metadata: { annotations: { [ANN_RETRY]: 'now' } } },
    { type: 'merge' },
  );
  await world.ready('snap');
});

test('[SIDE-2] with the policy Retain the content and the snapshot on the storage stay, and can be taken up again', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass({ deletionPolicy: 'Retain' });
  await world.start();
  await world.makeSnapshot('snap');
  const { content } = await world.ready('snap');
  await world.admin.delete(volumeSnapshots, named('snap'));
  await world.snapshotGone('snap');
  const kept = await world.admin.get(volumeSnapshotContents, { name: content.metadata.name });
  assert.equal(kept.metadata.annotations?.[ANN_SNAPSHOT_BEING_DELETED], 'yes');
  assert.equal(world.driver.snapshots.size, 1);
  assert.equal(world.driver.callsOf('DeleteSnapshot').length, 0);

  // An administrator brings it back under another name.
  const snapshotHandle = content.status?.snapshotHandle ?? '';
  await world.make(volumeSnapshotContents, {
    metadata: { name: 'again' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: { snapshotHandle },
      volumeSnapshotRef: { name: 'again', namespace: 'default' },
    },
  });
  const source = { volumeSnapshotContentName: 'again' };
  await world.make(volumeSnapshots, { metadata: named('again'), spec: { source } });
  const again = await world.ready('again');
  assert.equal(again.content.status?.snapshotHandle, snapshotHandle);
  assert.equal(again.content.spec.volumeSnapshotRef.uid, again.snapshot.metadata.uid);
  assert.ok(again.content.metadata.finalizers?.includes(FINALIZER_SNAPSHOT_CONTENT));

  // The retained content itself goes when it is deleted, and leaves the storage alone.
  await world.admin.delete(volumeSnapshotContents, { name: content.metadata.name });
  await world.content(content.metadata.name, (each) => each === undefined);
  assert.equal(world.driver.snapshots.size, 1);
  await world.admin.delete(volumeSnapshots, named('again'));
  await world.snapshotGone('again');
  await world.content('again', (each) => each === undefined);
  assert.equal(world.driver.snapshots.size, 0);
});

test('[SIDE-2] the default class of the driver is chosen, and only where it is certain', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  const isDefault = { annotations: { [ANN_DEFAULT_SNAPSHOT_CLASS]: 'true' } };
  await world.start();
  const spec = { source: { persistentVolumeClaimName: 'data' } };
  await world.make(volumeSnapshots, { metadata: named('snap'), spec });
  await world.event('SetDefaultSnapshotClassFailed', 'is the default of driver scripted.csi.test');
  await world.makeClass({ driver: 'other.csi.test' }, { name: 'others', ...isDefault });
  await world.makeClass({}, { name: 'not-default' });
  await world.makeClass({}, { name: 'one', ...isDefault });
  const { snapshot } = await world.ready('snap');
  assert.equal(snapshot.spec.volumeSnapshotClassName, 'one');
  assert.equal(snapshot.status?.error, undefined);

  await world.makeClass({}, { name: 'two', ...isDefault });
  await world.make(volumeSnapshots, { metadata: named('torn'), spec });
  await world.event('SetDefaultSnapshotClassFailed', 'one, two are all defaults');
  const torn = await world.snapshot('torn', ({ status }) => status?.error !== undefined);
  assert.deepEqual(torn.metadata.finalizers ?? [], []);
});

test('[SIDE-2] problems are reported in status and events, and work continues once they are solved', async (t) => {
  const world = await snapshotWorld(t);
  await world.start();
  await world.makeSnapshot('snap');
  await world.event('SnapshotContentCreationFailed', 'PersistentVolumeClaim "data" does not exist');
  await world.makeBoundClaim('data');
  await world.event('GetSnapshotClassFailed', 'VolumeSnapshotClass "fast" does not exist');
  await world.makeClass();
  const { snapshot } = await world.ready('snap');
  assert.equal(snapshot.status?.error, undefined);
});

test('[SIDE-2] a class of another driver than the volume’s is refused before anything is asked', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data', { driver: 'other.csi.test' });
  await world.makeClass();
  await world.start();
  await world.makeSnapshot('snap');
  await world.event(
    'SnapshotContentCreationFailed',
    'the volume of claim "data" is of driver other.csi.test',
  );
  assert.equal(world.driver.callsOf('CreateSnapshot').length, 0);
  assert.deepEqual(world.contents.list(), []);
});

test('[SIDE-2] the claim is protected while its snapshot is not ready, and the snapshot is asked for until it is', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  world.driver.snapshotsAreReady = false;
  await world.start();
  await world.makeSnapshot('snap');
  await world.snapshot('snap', ({ status }) => status?.creationTime !== undefined);
  await world.driver.until(() => world.driver.callsOf('CreateSnapshot').length >= 3);
  await world.admin.delete(persistentVolumeClaims, named('data'));
  const held = await world.admin.get(persistentVolumeClaims, named('data'));
  assert.deepEqual(held.metadata.finalizers, [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE]);
  // Without its class it is asked for with the parameters of the first time.
  await world.admin.delete(volumeSnapshotClasses, { name: 'fast' });
  for (const snapshot of world.driver.snapshots.values()) snapshot.ready = true;
  await world.ready('snap');
  await world.claims.waitFor('default/data', (each) => each === undefined, within());
  assert.equal(world.driver.snapshots.size, 1);
});

test('[SIDE-2] a snapshot from which a volume is made is not deleted until that is over', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  await world.start();
  await world.makeSnapshot('snap');
  await world.ready('snap');
  const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' };
  await world.make(persistentVolumeClaims, {
    metadata: named('restored'),
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      resources: { requests: { storage: '1Gi' } },
      dataSource,
    },
  });
  const finalizer = [FINALIZER_SNAPSHOT_SOURCE_PROTECTION];
  const add = [{ op: 'add', path: '/metadata/finalizers/-', value: finalizer[0] }];
  await world.admin.patch(volumeSnapshots, named('snap'), add, { type: 'json' });
  await world.admin.delete(volumeSnapshots, named('snap'));
  await world.event('SnapshotDeletePending', 'for claim "restored"');
  const status = { type: 'merge', subresource: 'status' } as const;
  await world.admin.patch(persistentVolumeClaims, named('restored'), { status: { phase: 'Bound' } }, status);
  await world.event('SnapshotDeletePending', 'a volume is being created from it');
  assert.equal(world.driver.callsOf('DeleteSnapshot').length, 0);
  const { metadata } = await world.admin.get(volumeSnapshots, named('snap'));
  const finalizers = metadata.finalizers?.filter((each) => each !== finalizer[0]);
  await world.admin.patch(volumeSnapshots, named('snap'), { metadata: { finalizers } }, { type: 'merge' });
  await world.snapshotGone('snap');
  assert.equal(world.driver.snapshots.size, 0);
});

test('[SIDE-2] a content whose snapshot is bound to another, or that is of the other kind, is refused', async (t) => {
  const world = await snapshotWorld(t);
  await world.start();
  const content = (name: string, source: object, ref: object) =>
    world.make(volumeSnapshotContents, {
      metadata: { name },
      spec: {
        driver: DRIVER,
        deletionPolicy: 'Delete',
        source,
        volumeSnapshotRef: { namespace: 'default', ...ref },
      },
    });
  await content('elsewhere', { snapshotHandle: 'x' }, { name: 'someone' });
  await content('made', { volumeHandle: 'x' }, { name: 'b' });
  for (const [name, from] of [
    ['a', 'elsewhere'],
    ['b', 'made'],
    ['c', 'nowhere'],
  ] as const) {
    const source = { volumeSnapshotContentName: from };
    await world.make(volumeSnapshots, { metadata: named(name), spec: { source } });
  }
  await world.event('SnapshotContentMisbound', '"elsewhere" is bound to another');
  await world.event('SnapshotContentMismatch', '"made" was created dynamically');
  await world.event('SnapshotContentMissing', '"nowhere" does not exist');
  const c = await world.snapshot('c', ({ status }) => status?.error !== undefined);
  assert.equal(c.status?.readyToUse, false);
  world.driver.snapshots.set('real', {
    id: 'real',
    name: 'real',
    volumeId: 'v',
    sizeBytes: 5n,
    parameters: {},
    ready: true,
  });
  await content('nowhere', { snapshotHandle: 'real' }, { name: 'c' });
  const { snapshot } = await world.ready('c');
  assert.equal(snapshot.status?.restoreSize, '5');
});

test('[SIDE-2] a ready snapshot whose content is gone is not silently recreated from current data', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  await world.start();
  await world.makeSnapshot('snap');
  const { content } = await world.ready('snap');
  const { name } = content.metadata;
  await world.admin.delete(volumeSnapshotContents, { name });
  await world.admin.patch(
    volumeSnapshotContents,
    { name },
    { metadata: { finalizers: [] } },
    { type: 'merge' },
  );
  await world.event('SnapshotContentMissing', 'no longer exists');
  await world.snapshot('snap', ({ status }) => status?.readyToUse === false);
  assert.equal(world.driver.callsOf('CreateSnapshot').length, 1);
  await world.admin.delete(volumeSnapshots, named('snap'));
  await world.snapshotGone('snap');
});

test('[SIDE-2] a content that an administrator deletes stays while its snapshot lives, and goes when that is no more', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  await world.start();
  await world.makeSnapshot('snap');
  const { content } = await world.ready('snap');
  const { name } = content.metadata;
  await world.admin.delete(volumeSnapshotContents, { name });
  // Of a content that a backup brought along without its snapshot nobody says that it is being deleted.
  await world.make(volumeSnapshotContents, {
    metadata: { name: 'orphan', finalizers: [FINALIZER_SNAPSHOT_CONTENT] },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: { snapshotHandle: 'elsewhere' },
      volumeSnapshotRef: { name: 'never', namespace: 'default', uid: 'never' },
    },
  });
  await world.admin.delete(volumeSnapshotContents, { name: 'orphan' });
  await world.content('orphan', (each) => each === undefined);
  assert.deepEqual(
    world.driver.callsOf<{ snapshotId: string }>('DeleteSnapshot').map(({ snapshotId }) => snapshotId),
    ['elsewhere'],
  );
  assert.ok(await world.admin.get(volumeSnapshotContents, { name }));
  await world.admin.delete(volumeSnapshots, named('snap'));
  await world.snapshotGone('snap');
  assert.equal(world.driver.snapshots.size, 0);
});

test('[SEC-1] [SIDE-2] each call gets the secret that the class names for it, and none is ever shown', async (t) => {
  const world = await snapshotWorld(t);
  const password = 'hunter2-not-shown';
  await makeSecret(world.admin, ['default', 'for-snap'], { password });
  await makeSecret(world.admin, ['vault', 'for-list'], { password: `${password}-list` });
  await world.makeBoundClaim('data');
  const prefix = 'csi.storage.k8s.io/snapshotter';
  await world.makeClass({
    parameters: {
      color: 'red',
      [`${prefix}-secret-name`]: `for-\${volumesnapshot.name}`,
      [`${prefix}-secret-namespace`]: `\${volumesnapshot.namespace}`,
      [`${prefix}-list-secret-name`]: 'for-list',
      [`${prefix}-list-secret-namespace`]: 'vault',
    },
  });
  world.driver.script('CreateSnapshot', { fail: 'INTERNAL', message: `no entry with ${password}` });
  world.driver.script('DeleteSnapshot', { fail: 'INTERNAL', message: `no exit with ${password}` });
  world.driver.script('ListSnapshots', { fail: 'INTERNAL', message: `no list with ${password}-list` });
  await world.start();
  await world.makeSnapshot('snap');
  await world.event('SnapshotCreationFailed');
  const { content } = await world.ready('snap');
  assert.deepEqual(content.metadata.annotations?.[ANN_SNAPSHOT_SECRET_NAME], 'for-snap');
  assert.deepEqual(content.metadata.annotations?.[ANN_SNAPSHOT_SECRET_NAMESPACE], 'default');
  const source = { snapshotHandle: content.status?.snapshotHandle };
  await world.make(volumeSnapshotContents, {
    metadata: { name: 'same' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Retain',
      source,
      volumeSnapshotClassName: 'fast',
      volumeSnapshotRef: { name: 'same', namespace: 'default' },
    },
  });
  const spec = { source: { volumeSnapshotContentName: 'same' } };
  await world.make(volumeSnapshots, { metadata: named('same'), spec });
  await world.ready('same');
  await world.admin.delete(volumeSnapshots, named('snap'));
  await world.event('SnapshotDeleteError');
  await world.snapshotGone('snap');

  const of = (method: string) =>
    world.driver.callsOf<{ secrets: Record<string, string> }>(method).map(({ secrets }) => secrets.password);
  assert.deepEqual(new Set(of('CreateSnapshot')), new Set([password]));
  assert.deepEqual(new Set(of('DeleteSnapshot')), new Set([password]));
  assert.deepEqual(new Set(of('ListSnapshots')), new Set([`${password}-list`]));
  const [request] = world.driver.callsOf<CreateSnapshotRequest>('CreateSnapshot');
  assert.deepEqual(request?.parameters, { color: 'red' });
  const seen = [world.snapshots, world.contents, world.events].map((each) => JSON.stringify(each.list()));
  assert.doesNotMatch(`${seen.join()}${world.log.text()}`, /hunter2/);
});

test('[SIDE-2] a snapshot is deleted without its secret where that is gone', async (t) => {
  const world = await snapshotWorld(t);
  await makeSecret(world.admin, ['default', 's'], { a: 'b' });
  await world.makeBoundClaim('data');
  const prefix = 'csi.storage.k8s.io/snapshotter-secret';
  await world.makeClass({ parameters: { [`${prefix}-name`]: 's', [`${prefix}-namespace`]: 'default' } });
  await world.start();
  await world.makeSnapshot('snap');
  await world.ready('snap');
  await world.admin.delete(secrets, { name: 's', namespace: 'default' });
  await world.admin.delete(volumeSnapshots, named('snap'));
  await world.snapshotGone('snap');
  assert.equal(world.driver.snapshots.size, 0);
});

test('[SIDE-2] without ListSnapshots GetSnapshot is used, and without both the driver’s first response counts', async (t) => {
  for (const controller of [
    ['CREATE_DELETE_SNAPSHOT', 'GET_SNAPSHOT'],
    ['CREATE_DELETE_SNAPSHOT'],
  ] as const) {
    const world = await snapshotWorld(t, { driver: { controller: [...controller] } });
    const snapshot = { id: 'old', name: 'old', volumeId: 'v', sizeBytes: 7n, parameters: {}, ready: false };
    world.driver.snapshots.set('old', snapshot);
    await world.start();
    await world.make(volumeSnapshotContents, {
      metadata: { name: 'old' },
      spec: {
        driver: DRIVER,
        deletionPolicy: 'Retain',
        source: { snapshotHandle: 'old' },
        volumeSnapshotRef: { name: 'old', namespace: 'default' },
      },
    });
    const spec = { source: { volumeSnapshotContentName: 'old' } };
    await world.make(volumeSnapshots, { metadata: named('old'), spec });
    if (controller.length > 1) {
      await world.driver.until(() => world.driver.callsOf('GetSnapshot').length >= 2);
      snapshot.ready = true;
    }
    const { content } = await world.ready('old');
    assert.equal(content.status?.restoreSize, controller.length > 1 ? 7 : undefined);
    assert.equal(world.driver.callsOf<ListSnapshotsRequest>('ListSnapshots').length, 0);
  }
});

test('[SIDE-2] names, metadata and parameters are as the flags say', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  await world.makeClass({ parameters: { 'csi.storage.k8s.io/strange': 'x' } }, { name: 'strange' });
  world.startController();
  await world.startSnapshotter({
    options: { naming: { prefix: 'shot', uuidLength: 8 }, extraCreateMetadata: true },
  });
  const made = await world.makeSnapshot('snap');
  const { content } = await world.ready('snap');
  const [request] = world.driver.callsOf<CreateSnapshotRequest>('CreateSnapshot');
  assert.equal(request?.name, `shot-${made.metadata.uid.replaceAll('-', '').slice(0, 8)}`);
  assert.deepEqual(request?.parameters, {
    'csi.storage.k8s.io/volumesnapshot/name': 'snap',
    'csi.storage.k8s.io/volumesnapshot/namespace': 'default',
    'csi.storage.k8s.io/volumesnapshotcontent/name': content.metadata.name,
  });
  await world.makeSnapshot('odd', { volumeSnapshotClassName: 'strange' });
  await world.event('SnapshotCreationFailed', 'csi.storage.k8s.io/strange');
  await world.snapshot('odd', ({ status }) => status?.error !== undefined);
});

test('[SIDE-2] with a snapshotter on each node, each makes the snapshots of its own volumes', async (t) => {
  const world = await snapshotWorld(t);
  await world.make(nodes, { metadata: { name: 'node-b', labels: { rack: 'b' } } });
  await world.make(nodes, { metadata: { name: 'node-a', labels: { rack: 'a' } } });
  const matchExpressions = [{ key: 'rack', operator: 'In', values: ['b'] }];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  await world.makeBoundClaim('data', { volume: { nodeAffinity } });
  await world.makeClass();
  world.startController({ options: { distributed: true } });
  await world.startSnapshotter({ options: { nodeName: 'node-a' } });
  await world.makeSnapshot('snap');
  const { status } = await world.snapshot('snap', (each) =>
    Boolean(each.status?.boundVolumeSnapshotContentName),
  );
  const name = status?.boundVolumeSnapshotContentName ?? '';
  const content = await world.admin.get(volumeSnapshotContents, { name });
  assert.equal(content.metadata.labels?.[LABEL_SNAPSHOT_MANAGED_BY], 'node-b');
  assert.equal(world.driver.callsOf('CreateSnapshot').length, 0);
  await world.startSnapshotter({ options: { nodeName: 'node-b' } });
  await world.ready('snap');
  assert.equal(world.driver.callsOf('CreateSnapshot').length, 1);
});
