// Data sources in other namespaces, under the provisioner's published role.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  namespaces,
  persistentVolumeClaims,
  type ReferenceGrant,
  referenceGrants,
} from '../../src/api/kinds.ts';
import { FINALIZER_CLONE_PROTECTION } from '../../src/api/well-known.ts';
import type { CreateVolumeRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { DEFAULT_PROVISIONER_FLAGS } from '../../src/sidecars/provisioner/provisioner-flags.ts';
import { installDefinition, provisionerWorld, type World } from './world.ts';

const within = () => AbortSignal.timeout(20_000);
const dataSourceRef = { kind: 'PersistentVolumeClaim', name: 'source', namespace: 'default' };
const there = { namespace: 'team' };

/** A claim `default/source`, and a provisioner with the gate. */
async function start(t: TestContext, { isOn = true } = {}): Promise<World> {
  const { featureGates } = DEFAULT_PROVISIONER_FLAGS;
  const world = await provisionerWorld(t, {
    driver: { controller: ['CREATE_DELETE_VOLUME', 'CLONE_VOLUME'] },
    provisioner: {
      featureGates: { ...featureGates, CrossNamespaceVolumeDataSource: isOn },
      // Only a change wakes a claim again.
      retryIntervalStartMs: 3_600_000,
      retryIntervalMaxMs: 3_600_000,
    },
  });
  await installDefinition(world, 'gateway.networking.k8s.io_referencegrants');
  for (const name of ['team', 'strangers']) await world.make(namespaces, { metadata: { name } });
  await world.makeClass();
  await world.start();
  await world.makeClaim('source');
  await world.bound('source');
  return world;
}

const grant = (world: World, namespace = 'team'): Promise<ReferenceGrant> =>
  world.make(referenceGrants, {
    metadata: { name: `for-${namespace}`, namespace: 'default' },
    spec: {
      from: [{ group: '', kind: 'PersistentVolumeClaim', namespace }],
      to: [{ group: '', kind: 'PersistentVolumeClaim', name: 'source' }],
    },
  });

const sourceIdOf = (world: World): unknown => {
  const request = world.driver.callsOf<CreateVolumeRequest>('CreateVolume').at(-1);
  const source = request?.volumeContentSource?.type;
  return source?.case === 'volume' ? source.value.volumeId : undefined;
};

test('[POP-2] a claim waits for a grant, is told so, and is cloned as soon as there is one', async (t) => {
  const world = await start(t);
  const { volume } = await world.bound('source');
  await world.makeClaim('clone', { dataSourceRef }, there);
  await world.event(
    'ProvisioningFailed',
    "accessing default/source of PersistentVolumeClaim dataSource from team/clone isn't allowed",
  );
  assert.equal(world.driver.callsOf('CreateVolume').length, 1, 'only of the source');
  await grant(world, 'others');
  await grant(world);
  await world.bound('team/clone');
  assert.equal(sourceIdOf(world), volume.spec.csi?.volumeHandle);
});

test('[POP-2] without the gate a source in another namespace is refused, whatever is granted', async (t) => {
  const world = await start(t, { isOn: false });
  await grant(world);
  await world.makeClaim('clone', { dataSourceRef }, there);
  await world.event(
    'ProvisioningFailed',
    'dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled',
  );
  assert.equal(world.driver.callsOf('CreateVolume').length, 1);
});

test('[POP-2] a claim that has no grant does not hold the source; one that has does', async (t) => {
  const world = await start(t);
  const granted = await grant(world);
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  world.driver.script('CreateVolume', { until: held.promise });
  await world.makeClaim('clone', { dataSourceRef }, there);
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 2);
  await world.makeClaim('stranger', { dataSourceRef }, { namespace: 'strangers' });
  await world.event('ProvisioningFailed', "from strangers/stranger isn't allowed");
  await world.remove('source');
  const source = await world.claims.waitFor(
    'default/source',
    (claim) => claim?.metadata.deletionTimestamp !== undefined,
    within(),
  );
  assert.ok(source?.metadata.finalizers?.includes(FINALIZER_CLONE_PROTECTION));
  held.resolve();
  await world.bound('team/clone');
  await world.claimGone('source');
  await world.admin.delete(referenceGrants, { name: granted.metadata.name, namespace: 'default' });
});

test('[POP-2] a grant that is withdrawn no longer holds the source', async (t) => {
  const world = await start(t);
  const granted = await grant(world);
  world.driver.always('CreateVolume', { fail: 'INVALID_ARGUMENT' });
  await world.makeClaim('clone', { dataSourceRef }, there);
  await world.event('ProvisioningFailed', 'INVALID_ARGUMENT');
  await world.remove('source');
  await world.claims.waitFor(
    'default/source',
    (claim) => claim?.metadata.deletionTimestamp !== undefined,
    within(),
  );
  await world.admin.delete(referenceGrants, { name: granted.metadata.name, namespace: 'default' });
  await world.claimGone('source');
  await world.admin.delete(persistentVolumeClaims, { name: 'clone', namespace: 'team' });
});
