import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  leases,
  persistentVolumeClaims,
  type VolumeSnapshot,
  volumeAttributesClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import {
  FINALIZER_CLONE_PROTECTION,
  FINALIZER_SNAPSHOT_SOURCE_PROTECTION,
} from '../../src/api/well-known.ts';
import type { CreateVolumeRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import type { ScriptedDriverOptions } from '../../src/csi/testing/scripted-driver.ts';
import { ifThere } from '../../src/runtime/kube/if-there.ts';
import { ledgerName, pageOf } from '../../src/sidecars/provisioner/intents/intent-ledger.ts';
import type { ProvisionerFlags } from '../../src/sidecars/provisioner/provisioner-flags.ts';
import { snapshotIdFor } from '../../src/sidecars/provisioner/sources/check-source.ts';
import { DRIVER, installDefinition, provisionerWorld, type World } from './world.ts';

const controller: NonNullable<ScriptedDriverOptions['controller']> = [
  'CREATE_DELETE_VOLUME',
  'CREATE_DELETE_SNAPSHOT',
  'CLONE_VOLUME',
  'MODIFY_VOLUME',
];
const within = () => AbortSignal.timeout(20_000);
const group = 'snapshot.storage.k8s.io';
const fromSnapshot = { dataSource: { apiGroup: group, kind: 'VolumeSnapshot', name: 'snap' } };

async function withSnapshots(t: TestContext, provisioner: Partial<ProvisionerFlags> = {}): Promise<World> {
  const world = await provisionerWorld(t, { driver: { controller }, provisioner });
  await installDefinition(world, 'snapshot.storage.k8s.io_volumesnapshots');
  await installDefinition(world, 'snapshot.storage.k8s.io_volumesnapshotcontents');
  await world.makeClass();
  return world;
}

async function makeSnapshot(
  world: World,
  change: { driver?: string; restoreSize?: string } = {},
): Promise<VolumeSnapshot> {
  const made = await world.make(volumeSnapshots, {
    metadata: { name: 'snap', namespace: 'default' },
    spec: { source: { persistentVolumeClaimName: 'source' } },
  });
  await world.make(volumeSnapshotContents, {
    metadata: { name: 'content' },
    spec: {
      deletionPolicy: 'Delete',
      driver: change.driver ?? DRIVER,
      source: { volumeHandle: 'source-volume' },
      volumeSnapshotRef: { name: 'snap', namespace: 'default', uid: made.metadata.uid },
    },
  });
  const status = { type: 'merge', subresource: 'status' } as const;
  await world.admin.patch(
    volumeSnapshotContents,
    { name: 'content' },
    { status: { snapshotHandle: 'snap-1', readyToUse: true } },
    status,
  );
  return world.admin.patch(
    volumeSnapshots,
    { name: 'snap', namespace: 'default' },
    {
      status: {
        boundVolumeSnapshotContentName: 'content',
        readyToUse: true,
        restoreSize: change.restoreSize ?? '1Gi',
      },
    },
    status,
  );
}

const snapshotFinalizers = async (world: World) =>
  (await world.admin.get(volumeSnapshots, { name: 'snap', namespace: 'default' })).metadata.finalizers ?? [];

test('[PROV-7] a claim is made from a snapshot, which is protected meanwhile', async (t) => {
  const world = await withSnapshots(t);
  await makeSnapshot(world);
  const held = Promise.withResolvers<void>();
  world.driver.script('CreateVolume', { until: held.promise });
  await world.start();
  await world.makeClaim('data', fromSnapshot);
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 1);
  assert((await snapshotFinalizers(world)).includes(FINALIZER_SNAPSHOT_SOURCE_PROTECTION));
  held.resolve();
  await world.bound('data');
  const [request] = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.deepEqual(request?.volumeContentSource?.type.value, {
    $typeName: 'csi.v1.VolumeContentSource.SnapshotSource',
    snapshotId: 'snap-1',
  });
  await world.informers
    .of(volumeSnapshots)
    .waitFor(
      'default/snap',
      (each) =>
        each !== undefined && !each.metadata.finalizers?.includes(FINALIZER_SNAPSHOT_SOURCE_PROTECTION),
      within(),
    );
});

test('[PROV-7] a snapshot that cannot be the source is refused with the reason', async (t) => {
  const table: { name: string; change: Parameters<typeof makeSnapshot>[1]; says: string }[] = [
    {
      name: 'of another driver',
      change: { driver: 'other.csi.test' },
      says: 'created by driver other.csi.test',
    },
    { name: 'too large', change: { restoreSize: '2Gi' }, says: 'less than the 2147483648' },
  ];
  for (const { name, change, says } of table) {
    const world = await withSnapshots(t);
    await makeSnapshot(world, change);
    await world.start();
    await world.makeClaim('data', fromSnapshot);
    await world.event('ProvisioningFailed', says);
    assert.equal(world.driver.callsOf('CreateVolume').length, 0, name);
  }
});

test('[PROV-7] a driver that does not make the volume from the snapshot has it deleted again', async (t) => {
  const world = await withSnapshots(t);
  await makeSnapshot(world);
  const volume = {
    $typeName: 'csi.v1.Volume',
    volumeId: 'empty',
    capacityBytes: 0n,
    volumeContext: {},
    accessibleTopology: [],
  };
  world.driver.script('CreateVolume', { answer: { volume } });
  await world.start();
  await world.makeClaim('data', fromSnapshot);
  await world.event('ProvisioningFailed', 'content source missing');
  await world.bound('data');
  assert.equal(world.driver.callsOf('DeleteVolume').length, 1);
});

test('[PROV-7] a source that the driver names by another spelling of its ID is accepted, and logged', async (t) => {
  const world = await withSnapshots(t);
  await makeSnapshot(world);
  const contentSource = { type: { case: 'snapshot', value: { snapshotId: 'urn:SNAP-1' } } };
  const volume = {
    volumeId: 'restored',
    capacityBytes: 0n,
    volumeContext: {},
    accessibleTopology: [],
    contentSource,
  };
  world.driver.script('CreateVolume', { answer: { volume } });
  await world.start();
  await world.makeClaim('data', fromSnapshot);
  const bound = await world.bound('data');
  assert.equal(bound.volume.spec.csi?.volumeHandle, 'restored');
  assert.equal(world.driver.callsOf('DeleteVolume').length, 0);
  assert.match(world.log.text(), /created from snapshot urn:SNAP-1; requested was snapshot snap-1/);
});

test('[PROV-7] a volume made from a source of another kind is deleted again', async (t) => {
  const world = await withSnapshots(t);
  await makeSnapshot(world);
  const contentSource = { type: { case: 'volume', value: { volumeId: 'snap-1' } } };
  const volume = {
    volumeId: 'wrong',
    capacityBytes: 0n,
    volumeContext: {},
    accessibleTopology: [],
    contentSource,
  };
  world.driver.script('CreateVolume', { answer: { volume } });
  await world.start();
  await world.makeClaim('data', fromSnapshot);
  await world.event('ProvisioningFailed', 'created from volume snap-1 instead of snapshot snap-1');
  await world.bound('data');
  assert.equal(world.driver.callsOf('DeleteVolume').length, 1);
});

test('[PROV-7] the mode may change where the content allows it, in any spelling of true that Go takes', () => {
  const table: [string, boolean][] = [
    ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text): [string, boolean] => [text, true]),
    ...['0', 'f', 'false', 'False', 'tRUE', 'yes', ''].map((text): [string, boolean] => [text, false]),
  ];
  const claim = { spec: { resources: { requests: { storage: '1Gi' } }, volumeMode: 'Block' } };
  const snapshot = {
    metadata: { name: 'snap', uid: 'u', namespace: 'default' },
    status: { readyToUse: true },
  };
  for (const [text, allowed] of table) {
    const content = {
      metadata: {
        name: 'c',
        annotations: { 'snapshot.storage.kubernetes.io/allow-volume-mode-change': text },
      },
      spec: {
        volumeSnapshotRef: snapshot.metadata,
        driver: DRIVER,
        sourceVolumeMode: 'Filesystem',
      },
      status: { snapshotHandle: 'snap-1' },
    };
    const ask = () =>
      snapshotIdFor(claim as never, { snapshot, content } as never, {
        driver: DRIVER,
        preventVolumeModeConversion: true,
      });
    if (allowed) assert.equal(ask(), 'snap-1', text);
    else assert.throws(ask, /that requires the annotation/, text);
  }
});

test('[PROV-7] a snapshot or claim of another API group is refused, and not waited for', async (t) => {
  const sources = [
    {
      apiGroup: 'snapshot.example.com',
      kind: 'VolumeSnapshot',
      name: 'snap',
      expected: 'snapshot.storage.k8s.io',
    },
    { apiGroup: 'example.com', kind: 'PersistentVolumeClaim', name: 'source', expected: '""' },
  ];
  const world = await provisionerWorld(t, { driver: { controller } });
  await world.makeClass();
  await world.start();
  for (const { expected, ...dataSourceRef } of sources) {
    await world.makeClaim(`from-${dataSourceRef.name}`, { dataSourceRef });
    const text = `the PVC source does not belong to the right APIGroup. Expected ${expected}, Got ${dataSourceRef.apiGroup}`;
    await world.event('ProvisioningFailed', text);
  }
  assert.equal(world.driver.callsOf('CreateVolume').length, 0);
});

test('the finalizer of a snapshot whose claim is gone is removed by the sweep', async (t) => {
  const world = await withSnapshots(t, { snapshotOrphanSweepIntervalMs: 20 });
  await makeSnapshot(world);
  const name = { name: 'snap', namespace: 'default' };
  const finalizers = [FINALIZER_SNAPSHOT_SOURCE_PROTECTION];
  await world.admin.patch(volumeSnapshots, name, { metadata: { finalizers } }, { type: 'merge' });
  await world.start();
  await world.informers
    .of(volumeSnapshots)
    .waitFor('default/snap', (each) => each !== undefined && !each.metadata.finalizers?.length, within());
});

test('[PROV-7] a claim is cloned, and its source stays until the clone is made', async (t) => {
  const world = await provisionerWorld(t, { driver: { controller } });
  await world.makeClass();
  await world.start();
  await world.makeClaim('source');
  const { volume } = await world.bound('source');
  const held = Promise.withResolvers<void>();
  world.driver.script('CreateVolume', { until: held.promise });
  await world.makeClaim('clone', { dataSource: { kind: 'PersistentVolumeClaim', name: 'source' } });
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 2);
  await world.remove('source');
  const source = await world.claims.waitFor(
    'default/source',
    (each) => each?.metadata.deletionTimestamp !== undefined && each.metadata.finalizers?.length === 1,
    within(),
  );
  assert.deepEqual(source?.metadata.finalizers, [FINALIZER_CLONE_PROTECTION]);
  held.resolve();
  await world.bound('clone');
  await world.claimGone('source');
  const request = world.driver.callsOf<CreateVolumeRequest>('CreateVolume')[1];
  assert.deepEqual(request?.volumeContentSource?.type.value, {
    $typeName: 'csi.v1.VolumeContentSource.VolumeSource',
    volumeId: volume.spec.csi?.volumeHandle,
  });
});

const clone = { dataSource: { kind: 'PersistentVolumeClaim', name: 'source' } };
for (const [what, fail, isRecorded] of [
  ['is made', undefined, false],
  ['has failed', 'INTERNAL', false],
  ['is recorded', undefined, true],
] as const) {
  test(`[PROV-7] a source that is deleted goes when its clone is gone before it ${what}`, async (t) => {
    const world = await provisionerWorld(t, { driver: { controller } });
    await world.makeClass();
    await world.makeClaim('source');
    const held = Promise.withResolvers<void>();
    const recording = Promise.withResolvers<void>();
    await world.start(({ kube }) => ({
      kube: {
        ...kube,
        async create(...given: Parameters<typeof kube.create>) {
          const [{ kind }, object] = given;
          const isClone = kind === 'PersistentVolume' && JSON.stringify(object).includes('"name":"clone"');
          if (isClone) recording.resolve();
          if (isClone) await held.promise;
          return kube.create(...given);
        },
      } as typeof kube,
    }));
    await world.bound('source');
    await world.noIntents();
    if (!isRecorded) world.driver.script('CreateVolume', { until: held.promise, ...(fail && { fail }) });
    await world.makeClaim('clone', clone);
    if (isRecorded) await recording.promise;
    else await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 2);
    await world.remove('clone');
    await world.remove('source');
    await world.claimGone('clone');
    held.resolve();
    await world.claimGone('source');
  });
}

test('[PROV-7] a snapshot keeps its protection until nobody can find the intent of its restore', async (t) => {
  const world = await withSnapshots(t);
  await makeSnapshot(world);
  const ledger = { namespace: 'kube-system', name: ledgerName(DRIVER) };
  const found: string[][] = [];
  await world.start(({ kube }) => ({
    kube: {
      ...kube,
      async patch(...given: Parameters<typeof kube.patch>) {
        const lease = await ifThere(world.admin.get(leases, ledger));
        if (given[0].kind === 'VolumeSnapshot') found.push(pageOf(lease).entries.map(({ name }) => name));
        return kube.patch(...given);
      },
    } as typeof kube,
  }));
  await world.makeClaim('data', fromSnapshot);
  await world.bound('data');
  await world.informers
    .of(volumeSnapshots)
    .waitFor('default/snap', (each) => each !== undefined && !each.metadata.finalizers?.length, within());
  assert.deepEqual(found, [[], []], 'before the restore, and after it');
});

test('[PROV-7] a source of another kind is left to its populator', async (t) => {
  const world = await provisionerWorld(t, { driver: { controller } });
  await world.makeClass();
  await world.start();
  const dataSourceRef = { apiGroup: 'example.com', kind: 'Image', name: 'linux' };
  await world.makeClaim('data', { dataSourceRef });
  await world.event('Provisioning', 'external populator');
  assert.equal(world.driver.callsOf('CreateVolume').length, 0);
});

test('[PROV-1] the parameters of a VolumeAttributesClass are the mutable ones', async (t) => {
  const world = await provisionerWorld(t, { driver: { controller } });
  await world.makeClass();
  await world.make(volumeAttributesClasses, {
    metadata: { name: 'gold' },
    driverName: DRIVER,
    parameters: { iops: '9000' },
  });
  await world.make(volumeAttributesClasses, {
    metadata: { name: 'foreign' },
    driverName: 'other.csi.test',
    parameters: { a: 'b' },
  });
  await world.start();
  await world.makeClaim('data', { volumeAttributesClassName: 'gold' });
  const { volume } = await world.bound('data');
  assert.equal(volume.spec.volumeAttributesClassName, 'gold');
  const [request] = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.deepEqual(request?.mutableParameters, { iops: '9000' });
  await world.makeClaim('other', { volumeAttributesClassName: 'foreign' });
  await world.event('ProvisioningFailed', 'is for driver other.csi.test');
  await world.admin.get(persistentVolumeClaims, { name: 'other', namespace: 'default' });
});
