import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leases, persistentVolumeClaims, roleBindings } from '../../src/api/kinds.ts';
import type { Resource } from '../../src/api/object.ts';
import {
  ANN_PROVISIONING_REQUEST,
  FINALIZER_PROVISIONER,
  FINALIZER_PROVISIONING,
} from '../../src/api/well-known.ts';
import type { CreateVolumeRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { VolumeCapability_AccessMode_Mode as Mode } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { ledgerName, pageOf } from '../../src/sidecars/provisioner/intents/intent-ledger.ts';
import { DRIVER, provisionerWorld } from './world.ts';

test('[PROV-1] [PROV-2] a claim gets a volume made for it, and both are bound', async (t) => {
  const world = await provisionerWorld(t);
  await world.start();
  await world.makeClass({
    parameters: {
      tier: 'gold',
      'csi.storage.k8s.io/fstype': 'xfs',
      csiProvisionerSecretName: 'none',
      csiProvisionerSecretNamespace: 'default',
    },
    mountOptions: ['noatime'],
    reclaimPolicy: 'Delete',
  });
  await world.makeSecret('default', 'none', {});
  await world.makeClaim('data', { resources: { requests: { storage: '1500Mi' } } });
  const { claim, volume } = await world.bound('data');
  const [request, ...more] = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.equal(more.length, 0);
  assert.equal(request?.name, `pvc-${claim.metadata.uid}`);
  assert.equal(request?.capacityRange?.requiredBytes, 1500n << 20n);
  assert.deepEqual(request?.parameters, { tier: 'gold' });
  const [capability] = request?.volumeCapabilities ?? [];
  assert.equal(capability?.accessMode?.mode, Mode.SINGLE_NODE_WRITER);
  assert.equal(capability?.accessType.case, 'mount');
  const mount = capability?.accessType.value as { fsType: string; mountFlags: string[] };
  assert.deepEqual([mount.fsType, mount.mountFlags], ['xfs', ['noatime']]);

  assert.equal(volume.metadata.name, `pvc-${claim.metadata.uid}`);
  const { spec } = volume;
  assert.equal(spec.csi?.driver, DRIVER);
  assert.equal(spec.csi?.volumeHandle, `vol-pvc-${claim.metadata.uid}`);
  assert.deepEqual(spec.csi?.volumeAttributes, { made: 'by script' });
  assert.equal(spec.csi?.fsType, 'xfs');
  assert.equal(spec.capacity?.storage, '1500Mi');
  assert.deepEqual(spec.accessModes, ['ReadWriteOnce']);
  assert.equal(spec.persistentVolumeReclaimPolicy, 'Delete');
  assert.deepEqual(spec.mountOptions, ['noatime']);
  assert.equal(spec.storageClassName, 'fast');
  assert.equal(spec.claimRef?.uid, claim.metadata.uid);
  assert.equal(volume.metadata.annotations?.['pv.kubernetes.io/provisioned-by'], DRIVER);
  assert(volume.metadata.finalizers?.includes(FINALIZER_PROVISIONER));
  await world.event('Provisioning');
  await world.event('ProvisioningSucceeded', volume.metadata.name);
});

test('[PROV-5] the intent is in the ledger before the call, and dropped once the volume is recorded; the claim is not written', async (t) => {
  const world = await provisionerWorld(t);
  const held = Promise.withResolvers<void>();
  world.driver.script('CreateVolume', { until: held.promise });
  const written: string[] = [];
  await world.start(({ kube }) => {
    const client = Object.create(kube) as typeof kube;
    for (const verb of ['update', 'patch'] as const) {
      const call = (kube[verb] as (...given: unknown[]) => Promise<never>).bind(kube);
      client[verb] = (resource: Resource, ...rest: unknown[]) => {
        if (resource.plural === 'persistentvolumeclaims') written.push(verb);
        return call(resource, ...rest);
      };
    }
    return { kube: client };
  });
  await world.makeClass();
  const claim = await world.makeClaim('data');
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 1);
  const during = await world.admin.get(leases, { name: ledgerName(DRIVER), namespace: 'kube-system' });
  const [intent, ...others] = pageOf(during).entries;
  assert.equal(others.length, 0);
  assert.equal(intent?.uid, claim.metadata.uid);
  assert.equal(intent?.spec.resources?.requests?.storage, '1Gi');
  held.resolve();
  await world.bound('data');
  await world.noIntents();
  assert.deepEqual([...written], []);
});

test('[PROV-5] where Leases may not be written, the intent is on the claim before the driver is asked', async (t) => {
  const world = await provisionerWorld(t);
  await world.admin.delete(roleBindings, { name: 'csi-provisioner-role-cfg', namespace: 'kube-system' });
  const held = Promise.withResolvers<void>();
  world.driver.script('CreateVolume', { until: held.promise });
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 1);
  const during = await world.admin.get(persistentVolumeClaims, { name: 'data', namespace: 'default' });
  assert(during.metadata.finalizers?.includes(FINALIZER_PROVISIONING));
  assert(during.metadata.annotations?.[ANN_PROVISIONING_REQUEST]);
  held.resolve();
  await world.bound('data');
  const after = await world.claims.waitFor(
    'default/data',
    (claim) => claim !== undefined && !claim.metadata.finalizers?.includes(FINALIZER_PROVISIONING),
    AbortSignal.timeout(10_000),
  );
  assert.equal(after?.metadata.annotations?.[ANN_PROVISIONING_REQUEST], undefined);
  await world.makeClaim('more');
  await world.bound('more');
  assert.equal(world.log.text().split('Intents cannot be kept').length, 2, 'it is said once');
});

test('[PROV-4] deleting the claim deletes the volume and its PersistentVolume', async (t) => {
  const world = await provisionerWorld(t);
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  const { volume } = await world.bound('data');
  await world.remove('data');
  await world.volumeGone(volume.metadata.name);
  assert.equal(world.driver.volumes.size, 0);
});
