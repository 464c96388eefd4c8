// Calls whose end is not known: they may have been done. Nothing may be lost, and nothing made twice.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  secrets,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import {
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_BEING_DELETED,
  ANN_SNAPSHOT_PARAMETERS,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../src/api/well-known.ts';
import type { CreateSnapshotRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { lagging } from '../../src/runtime/informer/testing/lagging.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { KubeError } from '../../src/runtime/kube/kube-error.ts';
import type { GrpcCode } from '../../src/wire/grpc/grpc-code.ts';
import { DRIVER, makeSecret, snapshotWorld, type World, within } from './world.ts';

const SNAP = { name: 'snap', namespace: 'default' };
const theContent = (world: World) => world.contents.list()[0]?.metadata.name ?? '';

const uncertain: GrpcCode[] = [
  'DEADLINE_EXCEEDED',
  'CANCELLED',
  'UNAVAILABLE',
  'ABORTED',
  'RESOURCE_EXHAUSTED',
];

for (const code of uncertain) {
  test(`[SIDE-2] a snapshot that was made and answered with ${code} is deleted with its VolumeSnapshot`, async (t) => {
    const world = await snapshotWorld(t);
    await world.makeBoundClaim('data');
    await world.makeClass({ parameters: { color: 'blue' } });
    world.driver.always('CreateSnapshot', { failAfter: code });
    await world.start();
    await world.makeSnapshot('snap');
    await world.event('SnapshotCreationFailed', code);
    const name = theContent(world);
    const before = await world.content(
      name,
      (each) => each?.metadata.annotations?.[ANN_SNAPSHOT_BEING_CREATED] === 'yes' && !!each.status?.error,
    );
    const recorded = JSON.parse(before?.metadata.annotations?.[ANN_SNAPSHOT_PARAMETERS] ?? '');
    assert.deepEqual(recorded.parameters, { color: 'blue' });
    // The user gives up, and even the class goes: it is asked again until it is certain, and then deleted.
    await world.admin.delete(volumeSnapshots, SNAP);
    await world.admin.delete(volumeSnapshotClasses, { name: 'fast' });
    await world.content(name, (each) => each?.metadata.deletionTimestamp !== undefined);
    assert.equal(world.driver.snapshots.size, 1);
    const asked = world.driver.callsOf('CreateSnapshot').length;
    await world.driver.until(() => world.driver.callsOf('CreateSnapshot').length > asked);
    assert.equal(world.driver.callsOf('DeleteSnapshot').length, 0);
    world.driver.always('CreateSnapshot', undefined);
    await world.snapshotGone('snap');
    assert.equal(world.driver.snapshots.size, 0);
    const requests = world.driver.callsOf<CreateSnapshotRequest>('CreateSnapshot');
    assert.equal(new Set(requests.map((each) => JSON.stringify([each.name, each.parameters]))).size, 1);
  });
}

test('[SIDE-2] after an uncertain call a transient error proves nothing; a rejection of the same request does', async (t) => {
  for (const [code, isProof] of [
    ['INTERNAL', false],
    ['NOT_FOUND', true],
  ] as const) {
    const world = await snapshotWorld(t);
    await world.makeBoundClaim('data');
    await world.makeClass();
    world.driver.script('CreateSnapshot', { failAfter: 'DEADLINE_EXCEEDED' });
    world.driver.always('CreateSnapshot', { fail: code });
    await world.start();
    await world.makeSnapshot('snap');
    await world.event('SnapshotCreationFailed', code);
    await world.admin.delete(volumeSnapshots, SNAP);
    if (isProof) {
      await world.snapshotGone('snap');
      continue;
    }
    const asked = world.driver.callsOf('CreateSnapshot').length;
    await world.driver.until(() => world.driver.callsOf('CreateSnapshot').length > asked + 1);
    assert.ok(await world.admin.get(volumeSnapshots, SNAP));
    world.driver.always('CreateSnapshot', undefined);
    await world.snapshotGone('snap');
    assert.equal(world.driver.snapshots.size, 0);
  }
});

test('[SIDE-2] an uncertain snapshot is found and deleted also when its secret is gone', async (t) => {
  const world = await snapshotWorld(t);
  await makeSecret(world.admin, ['default', 's'], { a: 'b' });
  await world.makeBoundClaim('data');
  const prefix = 'csi.storage.k8s.io/snapshotter-secret';
  await world.makeClass({ parameters: { [`${prefix}-name`]: 's', [`${prefix}-namespace`]: 'default' } });
  world.driver.script('CreateSnapshot', { failAfter: 'DEADLINE_EXCEEDED' });
  const snapshotter = await world.startSnapshotter();
  world.startController();
  await world.makeSnapshot('snap');
  await world.driver.until(() => world.driver.snapshots.size === 1);
  await snapshotter.stop();
  await world.admin.delete(secrets, { name: 's', namespace: 'default' });
  await world.admin.delete(volumeSnapshots, SNAP);
  await world.content(theContent(world), (each) => each?.metadata.deletionTimestamp !== undefined);
  await world.startSnapshotter();
  await world.snapshotGone('snap');
  assert.equal(world.driver.snapshots.size, 0);
});

const final: GrpcCode[] = [
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'INTERNAL',
  'ALREADY_EXISTS',
  'FAILED_PRECONDITION',
];

for (const code of final) {
  test(`[SIDE-2] after ${code} there is no snapshot, and the VolumeSnapshot goes at once`, async (t) => {
    const world = await snapshotWorld(t);
    await world.makeBoundClaim('data');
    await world.makeClass();
    world.driver.always('CreateSnapshot', { fail: code });
    await world.start();
    await world.makeSnapshot('snap');
    await world.event('SnapshotCreationFailed', code);
    const told = await world.snapshot(
      'snap',
      ({ status }) => status?.error?.message?.includes(code) ?? false,
    );
    assert.equal(told.status?.readyToUse, false);
    await world.admin.delete(volumeSnapshots, SNAP);
    await world.snapshotGone('snap');
    assert.equal(world.driver.callsOf('DeleteSnapshot').length, 0);
    assert.deepEqual(world.contents.list(), []);
  });
}

test('[SIDE-2] a deletion that fails is tried until it succeeds, and the snapshot says why it is still there', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  await world.start();
  await world.makeSnapshot('snap');
  await world.ready('snap');
  world.driver.always('DeleteSnapshot', { failAfter: 'DEADLINE_EXCEEDED' });
  await world.admin.delete(volumeSnapshots, SNAP);
  await world.event('SnapshotDeleteError', 'DEADLINE_EXCEEDED');
  await world.snapshot(
    'snap',
    ({ status }) => status?.error?.message?.includes('DEADLINE_EXCEEDED') ?? false,
  );
  world.driver.always('DeleteSnapshot', undefined);
  await world.snapshotGone('snap');
  assert.equal(world.driver.snapshots.size, 0);
});

test('[SIDE-2] a content made by another controller has its finalizer before the driver is asked', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  const held = Promise.withResolvers<void>();
  world.driver.script('CreateSnapshot', { until: held.promise });
  await world.startSnapshotter();
  const made = await world.makeSnapshot('snap');
  const name = `snapcontent-${made.metadata.uid}`;
  await world.make(volumeSnapshotContents, {
    metadata: { name },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      volumeSnapshotClassName: 'fast',
      source: { volumeHandle: 'vol-data' },
      volumeSnapshotRef: { ...SNAP, uid: made.metadata.uid },
    },
  });
  await world.driver.until(() => world.driver.callsOf('CreateSnapshot').length === 1);
  await world.admin.delete(volumeSnapshotContents, { name });
  const { metadata } = await world.admin.get(volumeSnapshotContents, { name });
  assert.deepEqual(metadata.finalizers, [FINALIZER_SNAPSHOT_CONTENT]);
  held.resolve();
  await world.content(name, (each) => each?.status?.readyToUse === true);
  await world.admin.delete(volumeSnapshots, SNAP);
  world.startController();
  await world.content(name, (each) => each === undefined);
  assert.equal(world.driver.snapshots.size, 0);
});

const orphans: [what: string, isBegun: boolean, isCutMeanwhile: boolean][] = [
  ['', false, false],
  [', with what is being cut for it', true, false],
  [', with what was cut between its mark and its deletion', true, true],
];
for (const [what, isBegun, isCutMeanwhile] of orphans)
  test(`[SIDE-2] a content that was created after its VolumeSnapshot was deleted goes${what}`, async (t) => {
    const world = await snapshotWorld(t);
    await world.makeBoundClaim('data');
    await world.makeClass();
    const held = Promise.withResolvers<void>();
    world.driver.script('CreateSnapshot', { until: held.promise });
    if (isBegun) await world.startSnapshotter();
    const uid = '00000000-0000-0000-0000-000000000000';
    const name = `snapcontent-${uid}`;
    await world.make(volumeSnapshotContents, {
      metadata: { name, finalizers: [FINALIZER_SNAPSHOT_CONTENT] },
      spec: {
        driver: DRIVER,
        deletionPolicy: 'Delete',
        volumeSnapshotClassName: 'fast',
        source: { volumeHandle: 'vol-data' },
        volumeSnapshotRef: { ...SNAP, uid },
      },
    });
    if (isBegun) await world.driver.until(() => world.driver.callsOf('CreateSnapshot').length === 1);
    const cutFirst = (kube: KubeClient): KubeClient => ({
      ...kube,
      async delete(...args: Parameters<KubeClient['delete']>) {
        held.resolve();
        await world.content(name, (each) => each?.status?.snapshotHandle !== undefined);
        await kube.delete(...args);
      },
    });
    world.startController(isCutMeanwhile ? { through: ({ kube }) => ({ kube: cutFirst(kube) }) } : {});
    if (isCutMeanwhile) {
      await world.content(name, (each) => each === undefined);
      assert.equal(world.driver.snapshots.size, 0);
      return;
    }
    const marked = await world.content(name, (each) => each?.metadata.deletionTimestamp !== undefined);
    assert.equal(marked?.metadata.annotations?.[ANN_SNAPSHOT_BEING_DELETED], 'orphan');
    if (isBegun) held.resolve();
    else await world.startSnapshotter();
    await world.content(name, (each) => each === undefined);
    assert.equal(world.driver.snapshots.size, 0);
    assert.equal(world.driver.callsOf('CreateSnapshot').length, isBegun ? 1 : 0);
  });

test('[SIDE-2] a response without an ID, or with another, is rejected', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  world.driver.snapshotsAreReady = false;
  world.driver.script('CreateSnapshot', { answer: { snapshot: undefined } });
  await world.start();
  await world.makeSnapshot('snap');
  await world.event('SnapshotCreationFailed', 'returned no snapshot ID');
  await world.snapshot('snap', ({ status }) => status?.creationTime !== undefined);
  const [first] = [...world.driver.snapshots.values()];
  assert.ok(first);
  const strange = {
    $typeName: 'csi.v1.Snapshot',
    snapshotId: 'another',
    sourceVolumeId: 'vol-data',
    sizeBytes: 0n,
    readyToUse: true,
    groupSnapshotId: '',
  };
  world.driver.script('CreateSnapshot', { answer: { snapshot: strange } });
  await world.event('SnapshotCreationFailed', `the recorded ${first.id}`);
  first.ready = true;
  const { content } = await world.ready('snap');
  assert.equal(content.status?.snapshotHandle, first.id);
  assert.equal(content.status?.error, undefined);
});

test('[SIDE-2] a snapshot replaced by another of the same name is not taken for it', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  await world.start();
  await world.makeSnapshot('snap');
  const first = await world.ready('snap');
  await world.admin.delete(volumeSnapshots, SNAP);
  await world.snapshotGone('snap');
  await world.makeSnapshot('snap');
  const second = await world.ready('snap');
  assert.notEqual(first.content.metadata.name, second.content.metadata.name);
  assert.equal(world.driver.snapshots.size, 1);
  await world.contents.waitFor(first.content.metadata.name, (each) => each === undefined, within());
});

test('[SIDE-2] a record whose removal may have taken effect is written again before the next call', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  const lag = lagging(volumeSnapshotContents);
  let lost = 0;
  const losing = (kube: KubeClient): KubeClient => ({
    ...kube,
    async patch(...args: Parameters<KubeClient['patch']>) {
      const answer = await kube.patch(...args);
      if (!Array.isArray(args[2]) || lost++ > 0) return answer as never;
      throw new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
    },
  });
  const held = Promise.withResolvers<void>();
  const again = Promise.withResolvers<void>();
  world.driver.script('CreateSnapshot', { until: held.promise, fail: 'INTERNAL' });
  world.driver.script('CreateSnapshot', { until: again.promise, failAfter: 'DEADLINE_EXCEEDED' });
  world.startController();
  const snapshotter = await world.startSnapshotter({
    through: ({ kube }) => ({ kube: lag.faults(losing(kube)) }),
  });
  await world.makeSnapshot('snap');
  await world.driver.until(() => world.driver.callsOf('CreateSnapshot').length === 1);
  lag.hold();
  held.resolve();
  await world.driver.until(() => world.driver.callsOf('CreateSnapshot').length === 2);
  assert.equal(lost, 1);
  const { metadata } = await world.admin.get(volumeSnapshotContents, { name: theContent(world) });
  assert.equal(metadata.annotations?.[ANN_SNAPSHOT_BEING_CREATED], 'yes');
  again.resolve();
  lag.release();
  await snapshotter.stop();
  assert.equal(world.driver.snapshots.size, 1);
  await world.admin.delete(volumeSnapshots, SNAP);
  await world.startSnapshotter();
  await world.snapshotGone('snap');
  assert.equal(world.driver.snapshots.size, 0);
});

test('[SIDE-2] a snapshot that is ready and still has a record is asked for until no call is in flight, and shows no error', async (t) => {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  world.startController();
  const first = await world.startSnapshotter();
  await world.makeSnapshot('snap');
  const { content } = await world.ready('snap');
  await first.stop();
  // As a crash leaves it between the status and the removal of the record, while the call may go on at the driver.
  const record = { metadata: { annotations: { [ANN_SNAPSHOT_PARAMETERS]: '{"parameters":{}}' } } };
  const { name } = content.metadata;
  await world.admin.patch(volumeSnapshotContents, { name }, record, { type: 'merge' });
  const asked = world.driver.callsOf('CreateSnapshot').length;
  world.driver.script('CreateSnapshot', { failAfter: 'DEADLINE_EXCEEDED' });
  world.driver.script('CreateSnapshot', { fail: 'INVALID_ARGUMENT' });
  await world.startSnapshotter();
  const settled = await world.content(
    name,
    (each) =>
      world.driver.callsOf('CreateSnapshot').length === asked + 2 &&
      each?.metadata.annotations?.[ANN_SNAPSHOT_PARAMETERS] === undefined,
  );
  assert.equal(settled?.status?.readyToUse, true);
  assert.equal(settled?.status?.error, undefined);
  await world.admin.delete(volumeSnapshots, SNAP);
  await world.snapshotGone('snap');
  assert.equal(world.driver.snapshots.size, 0);
});
