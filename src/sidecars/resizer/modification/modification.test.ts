// Volumes whose claims name another VolumeAttributesClass, against the API server and a scripted driver.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  namespaces,
  type PersistentVolumeClaim,
  persistentVolumes,
  secrets,
  volumeAttributesClasses,
} from '../../../api/kinds.ts';
import type { ControllerModifyVolumeRequest } from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { DEFAULT_RESIZER_FLAGS } from '../resizer-flags.ts';
import {
  attributesClass,
  conditionsOf,
  forgottenReport,
  type ResizerWorld,
  resizerWorld,
} from '../testing/resizer-world.ts';

const modifying = { driver: { controller: ['MODIFY_VOLUME'] as never } };
const calls = ({ driver }: ResizerWorld) =>
  driver.callsOf<ControllerModifyVolumeRequest>('ControllerModifyVolume');
const isOfClass =
  (name: string) =>
  (claim: PersistentVolumeClaim): boolean =>
    claim.status?.currentVolumeAttributesClassName === name &&
    claim.status.modifyVolumeStatus === undefined &&
    conditionsOf(claim).length === 0;
const stateIs =
  (state: string) =>
  ({ status }: PersistentVolumeClaim): boolean =>
    status?.modifyVolumeStatus?.status === state;

test('[SIDE-1] a claim that names a class gets its parameters, and then those of another', async (t) => {
  const world = await resizerWorld(t, modifying);
  await attributesClass(world, 'silver', { iops: '3000' });
  await attributesClass(world, 'gold', { iops: '9000', tier: 'fast' });
  await world.bound('data');
  await world.start();
  await world.wantClass('data', 'silver');
  await world.claim('data', isOfClass('silver'));
  await world.wantClass('data', 'gold');
  await world.claim('data', isOfClass('gold'));
  assert.equal((await world.volume('data')).spec.volumeAttributesClassName, 'gold');
  assert.deepEqual(
    calls(world).map(({ mutableParameters }) => mutableParameters),
    [{ iops: '3000' }, { iops: '9000', tier: 'fast' }],
  );
  await world.told('data', 'VolumeModify', /gold/);
  await world.told('data', 'VolumeModifySuccessful', /gold/);
});

test('[SIDE-1] a volume that was written during the call gets its class with a second call', async (t) => {
  const world = await resizerWorld(t, modifying);
  await attributesClass(world, 'gold', { iops: '9000' });
  await world.bound('data');
  let writes = 0;
  await world.start(({ kube }) => ({
    kube: {
      ...kube,
      async patch(...call: Parameters<KubeClient['patch']>) {
        const [{ plural }] = call;
        if (plural === persistentVolumes.plural && writes++ === 0) {
          const label = { metadata: { labels: { written: 'by-others' } } };
          await world.admin.patch(persistentVolumes, { name: 'pv-data' }, label, { type: 'merge' });
        }
        return kube.patch(...call);
      },
    },
  }));
  await world.wantClass('data', 'gold');
  await world.claim('data', isOfClass('gold'));
  const { metadata, spec } = await world.volume('data');
  assert.deepEqual([metadata.labels?.written, spec.volumeAttributesClassName], ['by-others', 'gold']);
  assert.deepEqual(
    calls(world).map(({ mutableParameters }) => mutableParameters),
    [{ iops: '9000' }, { iops: '9000' }],
  );
});

test('[SIDE-1] a class that does not exist is waited for', async (t) => {
  const world = await resizerWorld(t, modifying);
  await world.bound('data');
  await world.start();
  await world.wantClass('data', 'gold');
  await world.claim('data', stateIs('Pending'));
  await world.told('data', 'VolumeModifyFailed', /gold does not exist/);
  await attributesClass(world, 'gold', { iops: '9000' });
  await world.claim('data', isOfClass('gold'));
});

test("[SIDE-1] another driver's class is refused", async (t) => {
  const world = await resizerWorld(t, modifying);
  await attributesClass(world, 'gold', { tier: 'gold' }, 'other.csi.test');
  await world.bound('data');
  await world.start();
  await world.wantClass('data', 'gold');
  await world.claim('data', stateIs('Pending'));
  await world.told('data', 'VolumeModifyFailed', /is for driver other.csi.test/);
  assert.equal(calls(world).length, 0);
});

test('[SIDE-1] parameters that the driver refuses are infeasible until another class is named', async (t) => {
  const world = await resizerWorld(t, { ...modifying, resizer: { retryIntervalMaxMs: 600_000 } });
  world.driver.script('ControllerModifyVolume', { fail: 'INVALID_ARGUMENT', message: 'no such tier' });
  await attributesClass(world, 'wrong', { tier: 'none' });
  await attributesClass(world, 'right', { tier: 'fast' });
  await world.bound('data');
  await world.start();
  await world.wantClass('data', 'wrong');
  const refused = await world.claim('data', stateIs('Infeasible'));
  const error = refused.status?.conditions?.find(({ type }) => type === 'ModifyVolumeError');
  assert.deepEqual([error?.reason, error?.message], ['InvalidArgument', 'no such tier']);
  await world.wantClass('data', 'right');
  await world.claim('data', isOfClass('right'));
  assert.equal(calls(world).length, 2);
});

test('[SIDE-1] a modification that is finished is not repeated because the cache does not show it yet', async (t) => {
  const world = await resizerWorld(t, modifying);
  const { faults, statesAtCalls, goesOn } = forgottenReport(t, world, 'ControllerModifyVolume');
  await attributesClass(world, 'gold', { tier: 'gold' });
  await world.bound('data');
  await world.start(faults);
  await world.wantClass('data', 'gold');
  await world.claim('data', isOfClass('gold'));
  await goesOn;
  assert.deepEqual(
    statesAtCalls.map((status) => status?.modifyVolumeStatus?.status),
    ['InProgress'],
  );
});

test('[SIDE-1] a call without an answer is repeated, though another class is named now', async (t) => {
  const world = await resizerWorld(t, modifying);
  world.driver.always('ControllerModifyVolume', { failAfter: 'DEADLINE_EXCEEDED' });
  await attributesClass(world, 'silver', { tier: 'silver' });
  await attributesClass(world, 'gold', { tier: 'gold' });
  await world.bound('data');
  await world.start();
  await world.wantClass('data', 'silver');
  await world.driver.until(() => calls(world).length > 1);
  await world.wantClass('data', 'gold');
  const before = calls(world).length;
  await world.driver.until(() => calls(world).length > before + 1);
  assert.deepEqual(
    [...new Set(calls(world).map(({ mutableParameters }) => mutableParameters.tier))],
    ['silver'],
  );
  world.driver.always('ControllerModifyVolume', undefined);
  await world.claim('data', isOfClass('gold'));
});

test('[SIDE-1] a request that is withdrawn leaves nothing in the status', async (t) => {
  const world = await resizerWorld(t, { ...modifying, resizer: { retryIntervalMaxMs: 600_000 } });
  world.driver.script('ControllerModifyVolume', { fail: 'INVALID_ARGUMENT' });
  await attributesClass(world, 'wrong', { tier: 'none' });
  await world.bound('data');
  await world.start();
  await world.wantClass('data', 'wrong');
  await world.claim('data', stateIs('Infeasible'));
  await world.wantClass('data', '');
  await world.claim('data', (claim) => !conditionsOf(claim).includes('ModifyingVolume'));
  await world.told('data', 'VolumeModifyCanceled');
});

test('[SIDE-1] [SEC-1] the secret of modification is used, else that of expansion; names only when asked for', async (t) => {
  const world = await resizerWorld(t, { ...modifying, resizer: { extraModifyMetadata: true } });
  await world.admin.create(namespaces, { metadata: { name: 'vault' } });
  for (const name of ['grow', 'modify']) {
    const data = { of: Buffer.from(name).toString('base64') };
    await world.admin.create(secrets, { metadata: { name, namespace: 'vault' }, data });
  }
  await attributesClass(world, 'gold', { tier: 'gold' });
  const csi = { controllerExpandSecretRef: { name: 'grow', namespace: 'vault' } };
  await world.bound('plain', { csi });
  await world.bound('noted', {
    csi,
    annotations: {
      'volume.kubernetes.io/controller-modify-secret-name': 'modify',
      'volume.kubernetes.io/controller-modify-secret-namespace': 'vault',
    },
  });
  await world.start();
  for (const name of ['plain', 'noted']) {
    await world.wantClass(name, 'gold');
    await world.claim(name, isOfClass('gold'));
  }
  assert.deepEqual(
    calls(world).map((call) => [call.volumeId, call.secrets.of, call.mutableParameters]),
    ['plain', 'noted'].map((name) => [
      `vol-${name}`,
      name === 'plain' ? 'grow' : 'modify',
      {
        tier: 'gold',
        'csi.storage.k8s.io/pvc/name': name,
        'csi.storage.k8s.io/pvc/namespace': 'default',
        'csi.storage.k8s.io/pv/name': `pv-${name}`,
      },
    ]),
  );
});

test('[SIDE-1] expansion and modification of a volume never overlap', async (t) => {
  const world = await resizerWorld(t, {
    driver: { controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'], nodeExpansionRequired: false },
  });
  const held = Promise.withResolvers<void>();
  world.driver.script('ControllerExpandVolume', { until: held.promise });
  await attributesClass(world, 'gold', { tier: 'gold' });
  await world.bound('data');
  await world.start();
  await world.request('data', '2Gi');
  await world.driver.until(() => world.driver.callsOf('ControllerExpandVolume').length === 1);
  await world.wantClass('data', 'gold');
  held.resolve();
  await world.claim('data', (claim) => isOfClass('gold')(claim) && claim.status?.capacity?.storage === '2Gi');
  assert.equal(world.driver.mostAtOnce.get('vol-data'), 1);
});

test('[SIDE-1] with the gate off nothing is modified, and the kind is not asked for', async (t) => {
  const world = await resizerWorld(t, {
    driver: { controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'], nodeExpansionRequired: false },
    resizer: { featureGates: { ...DEFAULT_RESIZER_FLAGS.featureGates, VolumeAttributesClass: false } },
  });
  await attributesClass(world, 'gold', { tier: 'gold' });
  await world.bound('data');
  const watched: string[] = [];
  await world.start(({ kube }) => ({
    kube: {
      ...kube,
      watch: (...args: Parameters<typeof kube.watch>) => {
        watched.push(args[0].plural);
        return kube.watch(...args);
      },
    },
  }));
  await world.wantClass('data', 'gold');
  await world.request('data', '2Gi');
  await world.claim('data', ({ status }) => status?.capacity?.storage === '2Gi');
  assert.equal(calls(world).length, 0);
  assert.ok(!watched.includes(volumeAttributesClasses.plural));
});
