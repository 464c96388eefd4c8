import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, persistentVolumes, storageClasses } from '../../src/api/kinds.ts';
import type { CreateVolumeRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { KubeError } from '../../src/runtime/kube/kube-error.ts';
import { DRIVER, type Ends, provisionerWorld, secretParameters, token } from './world.ts';

const halfReference = { 'csi.storage.k8s.io/provisioner-secret-name': 'creds' };

const refusals: {
  name: string;
  parameters?: Record<string, string>;
  claim?: object;
  says: string;
}[] = [
  { name: 'half of a secret reference', parameters: halfReference, says: 'half of a secret reference' },
  {
    name: 'a template with an unknown token',
    parameters: secretParameters('provisioner', token('pod.name'), 'default'),
    says: token('pod.name'),
  },
  {
    name: "a user's choice of namespace",
    parameters: secretParameters('provisioner', 'creds', token('pvc.name')),
    says: token('pvc.name'),
  },
  {
    name: 'a reserved parameter nobody knows',
    parameters: { 'csi.storage.k8s.io/fsType': 'ext4' },
    says: 'csi.storage.k8s.io/fsType',
  },
  {
    name: 'two file systems',
    parameters: { fstype: 'ext4', 'csi.storage.k8s.io/fstype': 'xfs' },
    says: 'gives the filesystem type twice',
  },
  {
    name: 'an impossible size',
    claim: { resources: { requests: { storage: '9e30' } } },
    says: 'which is not a valid size',
  },
  { name: 'a selector', claim: { selector: { matchLabels: { a: 'b' } } }, says: 'a claim with a selector' },
  {
    name: 'a snapshot from a driver without snapshots',
    claim: { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' } },
    says: 'CREATE_DELETE_SNAPSHOT',
  },
  {
    name: 'a clone from a driver that cannot',
    claim: { dataSource: { kind: 'PersistentVolumeClaim', name: 'other' } },
    says: 'CLONE_VOLUME',
  },
  {
    name: 'attributes for a driver that cannot',
    claim: { volumeAttributesClassName: 'gold' },
    says: 'MODIFY_VOLUME',
  },
];

test('[PROV-7] what cannot be made is refused with an event before the driver is asked', async (t) => {
  for (const { name, parameters, claim, says } of refusals) {
    const world = await provisionerWorld(t);
    await world.start();
    await world.makeClass(parameters ? { parameters } : {});
    await world.makeClaim('data', claim);
    await world.event('ProvisioningFailed', says);
    assert.equal(world.driver.callsOf('CreateVolume').length, 0, name);
    const stored = await world.admin.get(persistentVolumeClaims, { name: 'data', namespace: 'default' });
    assert(!stored.metadata.finalizers?.includes('csi.berth/provisioning'), name);
  }
});

test('[PROV-7] a driver without CREATE_DELETE_VOLUME is not asked, and the claim says why', async (t) => {
  const world = await provisionerWorld(t, { driver: { controller: ['PUBLISH_UNPUBLISH_VOLUME'] } });
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.event('ProvisioningFailed', 'does not report CREATE_DELETE_VOLUME');
  assert.equal(world.driver.callsOf('CreateVolume').length, 0);
});

test('a class that is put right is used at once', async (t) => {
  const world = await provisionerWorld(t, {
    provisioner: { retryIntervalStartMs: 600_000, retryIntervalMaxMs: 600_000 },
  });
  await world.start();
  await world.makeClass({ parameters: halfReference });
  await world.makeClaim('data');
  await world.event('ProvisioningFailed', 'half of a secret reference');
  await world.admin.delete(storageClasses, { name: 'fast' });
  await world.makeClass();
  await world.bound('data');
});

test("a driver that answers with another claim's volume does not get it shared, and nothing is deleted", async (t) => {
  const world = await provisionerWorld(t);
  await world.start();
  await world.makeClass();
  await world.makeClaim('one');
  const { volume } = await world.bound('one');
  const stolen = {
    volumeId: volume.spec.csi?.volumeHandle,
    capacityBytes: 1n << 30n,
    $typeName: 'csi.v1.Volume',
  };
  world.driver.script('CreateVolume', {
    answer: { volume: { ...stolen, volumeContext: {}, accessibleTopology: [] } },
  });
  await world.makeClaim('two');
  await world.event('ProvisioningFailed', `already belongs to PersistentVolume ${volume.metadata.name}`);
  assert.equal(world.driver.callsOf('DeleteVolume').length, 0);
  await world.bound('two');
  const handles = world.volumes.list().map((each) => each.spec.csi?.volumeHandle);
  assert.equal(new Set(handles).size, 2);
});

const wrongAnswers: { name: string; volume: object; says: string }[] = [
  {
    name: 'too small',
    volume: { volumeId: 'small', capacityBytes: 1n, volumeContext: {}, accessibleTopology: [] },
    says: 'less than requested capacity',
  },
  {
    name: 'a context too large to store',
    volume: {
      volumeId: 'huge',
      capacityBytes: 1n << 30n,
      volumeContext: { blob: 'x'.repeat(4 << 20) },
      accessibleTopology: [],
    },
    says: 'cannot be recorded',
  },
];

/** Refuses large objects, as API servers over HTTP do. */
function withSizeLimit({ kube }: Ends): Partial<Ends> {
  const limited = Object.create(kube) as typeof kube;
  limited.create = (resource, object, options) =>
    JSON.stringify(object).length < 1 << 20
      ? kube.create(resource, object, options)
      : Promise.reject(
          new KubeError({
            reason: 'RequestEntityTooLarge',
            code: 413,
            message: 'etcdserver: request is too large',
          }),
        );
  return { kube: limited };
}

test('an unusable volume is deleted again, and an event says why', async (t) => {
  for (const { name, volume, says } of wrongAnswers) {
    const world = await provisionerWorld(t);
    world.driver.script('CreateVolume', { answer: { volume: { $typeName: 'csi.v1.Volume', ...volume } } });
    await world.start(withSizeLimit);
    await world.makeClass();
    await world.makeClaim('data');
    await world.event('ProvisioningFailed', says);
    assert.equal(world.driver.callsOf('DeleteVolume').length, 1, name);
    await world.bound('data');
  }
});

test('a response without a volume ID is repeated, and the claim is kept meanwhile', async (t) => {
  const world = await provisionerWorld(t);
  world.driver.script('CreateVolume', { answer: { volume: undefined } });
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.event('ProvisioningFailed', 'without a volume ID');
  await world.bound('data');
  assert.equal(world.driver.volumes.size, 1);
});

test('a claim whose shortened name is taken by another claim does not share its volume', async (t) => {
  const world = await provisionerWorld(t, { withoutBinder: true });
  await world.makeClass();
  const annotations = { 'volume.kubernetes.io/storage-provisioner': DRIVER };
  const claim = await world.makeClaim('data', {}, { annotations });
  await world.make(persistentVolumes, {
    metadata: { name: `pvc-${claim.metadata.uid}` },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Delete',
      claimRef: { name: 'other', namespace: 'default', uid: 'of-another' },
      csi: { driver: DRIVER, volumeHandle: 'theirs' },
    },
  });
  await world.start();
  await world.event('ProvisioningFailed', 'belongs to another claim');
  assert.equal(world.driver.callsOf('CreateVolume').length, 0);
});

test('a claim of another provisioner is left alone, and so is its volume', async (t) => {
  const world = await provisionerWorld(t);
  await world.start();
  await world.makeClass({ metadata: { name: 'other' }, provisioner: 'other.csi.test' });
  await world.makeClaim('theirs', { storageClassName: 'other' });
  await world.make(persistentVolumes, {
    metadata: { name: 'pv-theirs' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Delete',
      csi: { driver: 'other.csi.test', volumeHandle: 'x' },
    },
  });
  await world.makeClass();
  await world.makeClaim('ours');
  await world.bound('ours');
  const calls = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.equal(calls.length, 1);
  const theirs = await world.admin.get(persistentVolumes, { name: 'pv-theirs' });
  assert(!theirs.metadata.finalizers?.includes('external-provisioner.volume.kubernetes.io/finalizer'));
});

test('flags that change the request: metadata, file system, prefix, read-only', async (t) => {
  const world = await provisionerWorld(t, {
    provisioner: {
      extraCreateMetadata: true,
      defaultFstype: 'ext4',
      volumeNamePrefix: 'v',
      volumeNameUuidLength: 8,
      controllerPublishReadonly: true,
    },
  });
  await world.start();
  await world.makeClass();
  const claim = await world.makeClaim('data', { accessModes: ['ReadOnlyMany'] });
  const { volume } = await world.bound('data');
  const name = `v-${claim.metadata.uid.replaceAll('-', '').slice(0, 8)}`;
  const [request] = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.deepEqual(request?.parameters, {
    'csi.storage.k8s.io/pvc/name': 'data',
    'csi.storage.k8s.io/pvc/namespace': 'default',
    'csi.storage.k8s.io/pv/name': name,
  });
  assert.equal(request?.name, name);
  assert.equal(volume.metadata.name, name);
  assert.equal(volume.spec.csi?.fsType, 'ext4');
  assert.equal(volume.spec.csi?.readOnly, true);
});
