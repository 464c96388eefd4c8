import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namespaces, secrets } from '../../src/api/kinds.ts';
import type { CreateVolumeRequest, DeleteVolumeRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { provisionerWorld, secretParameters, token, type World } from './world.ts';

/** Everything the provisioner ever wrote or said, in one text. */
async function everythingSaid(world: World): Promise<string> {
  const objects = [...world.claims.list(), ...world.volumes.list(), ...world.events.list()];
  return JSON.stringify([objects, world.log.lines, await world.metrics.text()]);
}

test('[PROV-3] [SEC-1] the secret of the class goes to CreateVolume and, from the volume, to DeleteVolume', async (t) => {
  const world = await provisionerWorld(t);
  await world.make(namespaces, { metadata: { name: 'creds' } });
  await world.makeSecret('creds', 'default-data', { user: 'me', password: 'hush' });
  await world.start();
  await world.makeClass({
    parameters: {
      tier: 'gold',
      ...secretParameters('provisioner', `${token('pvc.namespace')}-${token('pvc.name')}`, 'creds'),
      ...secretParameters(
        'node-publish',
        `${token("pvc.annotations['team']")}-${token('pv.name')}`,
        token('pvc.namespace'),
      ),
      ...secretParameters('controller-expand', 'grow', 'creds'),
    },
  });
  const claim = await world.makeClaim('data', {}, { annotations: { team: 'blue' } });
  const { volume } = await world.bound('data');
  const [created] = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.deepEqual(created?.secrets, { user: 'me', password: 'hush' });
  assert.deepEqual(created?.parameters, { tier: 'gold' });
  assert.deepEqual(volume.spec.csi?.nodePublishSecretRef, {
    name: `blue-pvc-${claim.metadata.uid}`,
    namespace: 'default',
  });
  assert.deepEqual(volume.spec.csi?.controllerExpandSecretRef, { name: 'grow', namespace: 'creds' });
  assert.equal(volume.spec.csi?.nodeStageSecretRef, undefined);
  await world.remove('data');
  await world.volumeGone(volume.metadata.name);
  const [deleted] = world.driver.callsOf<DeleteVolumeRequest>('DeleteVolume');
  assert.deepEqual(deleted?.secrets, { user: 'me', password: 'hush' });
});

test('[PROV-3] both spellings of the parameters are understood and neither reaches the driver', async (t) => {
  const world = await provisionerWorld(t);
  await world.makeSecret('default', 'old', { a: 'old' });
  await world.makeSecret('default', 'new', { a: 'new' });
  await world.start();
  const old = { csiProvisionerSecretName: 'old', csiProvisionerSecretNamespace: 'default' };
  await world.makeClass({ parameters: old });
  await world.makeClass({
    metadata: { name: 'both' },
    parameters: { ...old, ...secretParameters('provisioner', 'new', 'default') },
  });
  await world.makeClaim('one');
  await world.bound('one');
  await world.makeClaim('two', { storageClassName: 'both' });
  await world.bound('two');
  const calls = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.deepEqual(
    calls.map((call) => call.secrets),
    [{ a: 'old' }, { a: 'new' }],
  );
  assert.deepEqual(
    calls.map((call) => call.parameters),
    [{}, {}],
  );
});

test('[SEC-2] all entries are passed as text; one that is not UTF-8 is refused by its key', async (t) => {
  const world = await provisionerWorld(t);
  await world.make(secrets, {
    metadata: { name: 'creds', namespace: 'default' },
    data: {
      good: Buffer.from('grüezi').toString('base64'),
      bad: Buffer.from([0xff, 0xfe, 0x41]).toString('base64'),
    },
  });
  await world.start();
  await world.makeClass({ parameters: secretParameters('provisioner', 'creds', 'default') });
  await world.makeClaim('data');
  const event = await world.event('ProvisioningFailed', 'key "bad" is not UTF-8');
  assert.match(event.message ?? '', /default\/creds/);
  assert.equal(world.driver.callsOf('CreateVolume').length, 0);
  await world.admin.patch(
    secrets,
    { name: 'creds', namespace: 'default' },
    { data: { bad: Buffer.from('now fine').toString('base64') } },
    { type: 'merge' },
  );
  await world.bound('data');
  const [call] = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.deepEqual(call?.secrets, { good: 'grüezi', bad: 'now fine' });
});

test('[SEC-3] a driver that quotes a secret in its error does not make it known', async (t) => {
  const world = await provisionerWorld(t);
  await world.makeSecret('default', 'creds', { password: 's3cr3t-value' });
  const message = 'login with s3cr3t-value failed';
  world.driver.script('CreateVolume', { fail: 'UNAUTHENTICATED', message });
  world.driver.script('DeleteVolume', { fail: 'UNAUTHENTICATED', message });
  await world.start();
  await world.makeClass({ parameters: secretParameters('provisioner', 'creds', 'default') });
  await world.makeClaim('data');
  await world.event('ProvisioningFailed', 'login with [redacted] failed');
  const { volume } = await world.bound('data');
  await world.remove('data');
  await world.event('VolumeFailedDelete', 'login with [redacted] failed');
  await world.volumeGone(volume.metadata.name);
  assert(!(await everythingSaid(world)).includes('s3cr3t-value'));
});

test('[SEC-1] a missing secret is an event, and provisioning goes on when it is there', async (t) => {
  const world = await provisionerWorld(t);
  await world.start();
  await world.makeClass({ parameters: secretParameters('provisioner', 'late', 'default') });
  await world.makeClaim('data');
  await world.event('ProvisioningFailed', 'secret default/late does not exist');
  await world.makeSecret('default', 'late', { a: '1' });
  await world.bound('data');
});
