// Several sidecars in one process, over a real socket and HTTPS, as one command.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  csiDrivers,
  csiNodes,
  leases,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
} from '../../api/kinds.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { attachment, DRIVER, existing, ourNode, pv } from '../attacher/testing/attacher-world.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { boundClaim, growingClass, isResizedTo } from '../resizer/testing/resizer-world.ts';
import { sidecarRig } from '../testing/sidecar-rig.ts';
import { untilAny } from '../testing/until-any.ts';
import { allSidecars } from './all-sidecars.ts';

test('[SIDE-6] one process, one connection, one lease: provisioner, attacher and cluster-registrar do their work', async (t) => {
  const rig = await sidecarRig(t);
  const driver = new ScriptedDriver({ name: DRIVER });
  await rig.serve(driver);
  existing(driver, 'vol-one');
  await rig.admin.create(csiNodes, ourNode() as never);
  await rig.admin.create(persistentVolumes, pv('one') as never);
  await rig.admin.create(volumeAttachments, attachment('one', { persistentVolumeName: 'one' }) as never);
  await rig.admin.create(storageClasses, { metadata: { name: 'fast' }, provisioner: DRIVER });
  await rig.admin.create(persistentVolumeClaims, {
    metadata: {
      name: 'data',
      namespace: 'default',
      annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      resources: { requests: { storage: '1Gi' } },
    },
  });
  const process = rig.spawn('sidecars', [
    '--controllers=provisioner,attacher,cluster-registrar',
    '--leader-election',
    '--attacher-worker-threads=3',
    '--cluster-registrar-pod-info-mount',
  ]);
  await untilAny(rig.admin, volumeAttachments, (each) => each.status?.attached === true);
  await untilAny(rig.admin, persistentVolumes, (each) => each.spec.claimRef?.name === 'data');
  const made = await untilAny(rig.admin, csiDrivers, (each) => each.metadata.name === DRIVER);
  assert.deepEqual([made.spec.attachRequired, made.spec.podInfoOnMount], [true, true]);
  const elections = async () => {
    const { items } = await rig.admin.list(leases, { namespace: 'default' });
    return items.filter(({ metadata }) => !metadata.name.startsWith('provisioning-intents.'));
  };
  assert.deepEqual(
    (await elections()).map((lease) => lease.metadata.name),
    ['external-sidecars-leader-scripted-csi-test'],
  );
  assert.equal(driver.callsOf('GetPluginInfo').length, 1);
  process.child.kill('SIGTERM');
  assert.deepEqual(await process.exit, { code: 0, signal: null });
  assert.equal((await elections())[0]?.spec?.holderIdentity, '');
});

test('[SIDE-6] [SIDE-1] the default set has the resizer beside a driver that expands, and leaves it out beside others', async (t) => {
  for (const expands of [true, false]) {
    const rig = await sidecarRig(t);
    const controller = ['CREATE_DELETE_VOLUME', ...(expands ? ['EXPAND_VOLUME'] : [])] as never;
    const driver = new ScriptedDriver({ name: DRIVER, controller, nodeExpansionRequired: false });
    await rig.serve(driver);
    await growingClass(rig.admin);
    await boundClaim({ admin: rig.admin, driver }, 'data');
    const process = rig.spawn('sidecars', ['--resizer-workers=2']);
    if (!expands) {
      await process.said('resizer');
      assert.match(process.output(), /left out.*resizer/);
      continue;
    }
    const more = { spec: { resources: { requests: { storage: '2Gi' } } } };
    const name = { name: 'data', namespace: 'default' };
    await rig.admin.patch(persistentVolumeClaims, name, more, { type: 'merge' });
    await untilAny(rig.admin, persistentVolumeClaims, isResizedTo('2Gi'));
  }
});

test('[SIDE-6] a sidecar that is not there is refused by name', async (t) => {
  const rig = await sidecarRig(t);
  const process = rig.spawn('sidecars', ['--controllers=attacher,attachr']);
  assert.equal((await process.exit).code, 2);
  assert.match(process.output(), /there is no sidecar "attachr", only .*attacher/);
});

test('[SIDE-6] sidecars of every node and of the whole cluster are not put into one process', async (t) => {
  const rig = await sidecarRig(t);
  await rig.serve(new ScriptedDriver({ name: DRIVER }));
  const process = rig.spawn('sidecars', ['--leader-election', '--node-deployment']);
  assert.equal((await process.exit).code, 1);
  assert.match(process.output(), /provisioner.* run in every replica, attacher.* in the leader only/);
});

test('[SIDE-6] a sidecar that does not suit the driver is left out, unless it was asked for by name', async () => {
  const made: string[] = [];
  const kind = (name: string, capability: 'CREATE_DELETE_SNAPSHOT' | 'CREATE_DELETE_VOLUME') =>
    defineSidecar({
      name,
      flags: {},
      leaseName: () => '',
      eventSource: () => '',
      suits: ({ controller }) => controller.has(capability),
      create: () => {
        made.push(name);
        return { run: async () => {} };
      },
    });
  const kinds = [kind('suiting', 'CREATE_DELETE_VOLUME'), kind('other', 'CREATE_DELETE_SNAPSHOT')];
  const log = memoryLog();
  const driver = { name: DRIVER, controller: new Set(['CREATE_DELETE_VOLUME']) };
  for (const given of [[], ['controllers']]) {
    const program = allSidecars({ kinds, values: {}, given: new Set(given) });
    program.create({ driver, log } as never, () => ({}) as never);
  }
  assert.deepEqual(made, ['suiting', 'suiting', 'other']);
  assert.match(JSON.stringify(log.lines), /left out.*other/);
});
