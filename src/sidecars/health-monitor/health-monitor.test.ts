// `berth health-monitor` as a process, over a real socket and HTTPS, with a scripted driver.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Event, events, nodes, persistentVolumes, pods } from '../../api/kinds.ts';
import { ScriptedDriver, type ScriptedDriverOptions } from '../../csi/testing/scripted-driver.ts';
import { boundClaim, growingClass } from '../resizer/testing/resizer-world.ts';
import { type SidecarRig, sidecarRig } from '../testing/sidecar-rig.ts';
import { untilAny } from '../testing/until-any.ts';

const DRIVER = 'scripted.csi.test';
const LISTING: ScriptedDriverOptions['controller'] = ['LIST_VOLUMES', 'VOLUME_CONDITION'];
const fast = ['--list-volumes-interval=50ms', '--monitor-interval=50ms'];

async function healthRig(
  t: TestContext,
  controller: ScriptedDriverOptions['controller'] = LISTING,
): Promise<{ rig: SidecarRig; driver: ScriptedDriver; ill(name: string, why?: string): void }> {
  const rig = await sidecarRig(t);
  const driver = new ScriptedDriver({ name: DRIVER, ...(controller && { controller }) });
  await rig.serve(driver);
  await growingClass(rig.admin);
  const status = { type: 'merge', subresource: 'status' } as const;
  for (const name of ['one', 'two']) {
    await boundClaim({ admin: rig.admin, driver }, name);
    const bound = { status: { phase: 'Bound' } };
    await rig.admin.patch(persistentVolumes, { name: `pv-${name}` }, bound, status);
  }
  const ill = (name: string, why?: string): void => {
    const volume = driver.volumes.get(`vol-${name}`);
    if (volume === undefined) throw new Error(`no volume of ${name}`);
    if (why === undefined) delete volume.illness;
    else volume.illness = why;
  };
  return { rig, driver, ill };
}

const told = (rig: SidecarRig, about: string, reason: string): Promise<Event> =>
  untilAny(rig.admin, events, (event) => event.involvedObject.name === about && event.reason === reason);

for (const [how, controller] of [
  ['ListVolumes', LISTING],
  ['ControllerGetVolume', ['GET_VOLUME', 'VOLUME_CONDITION']],
] as const) {
  test(`[HLT-1] an abnormal condition, and its end, are events on the claim (${how})`, async (t) => {
    const { rig, driver, ill } = await healthRig(t, [...controller]);
    rig.spawn('health-monitor', fast);
    ill('one', 'a disk of the array is gone');
    const abnormal = await told(rig, 'one', 'VolumeConditionAbnormal');
    assert.equal(abnormal.message, 'a disk of the array is gone');
    assert.equal(abnormal.type, 'Warning');
    assert.equal(abnormal.involvedObject.kind, 'PersistentVolumeClaim');
    assert.equal(abnormal.source?.component, `csi-pv-monitor-controller-${DRIVER}`);
    ill('one');
    assert.equal((await told(rig, 'one', 'VolumeConditionNormal')).type, 'Normal');
    const asked = driver.calls.length;
    await driver.until(() => driver.calls.length > asked + 4);
    const { items } = await rig.admin.list(events);
    const ends = items.filter(({ reason }) => reason === 'VolumeConditionNormal');
    assert.deepEqual(
      ends.map(({ involvedObject, count }) => [involvedObject.name, count ?? 1]),
      [['one', 1]],
    );
    assert.ok(items.every(({ involvedObject }) => involvedObject.name !== 'two'));
  });
}

test('[HLT-1] the end is reported also by a monitor that was started after the illness began', async (t) => {
  const { rig, ill } = await healthRig(t);
  const first = rig.spawn('health-monitor', fast);
  ill('one', 'degraded');
  await told(rig, 'one', 'VolumeConditionAbnormal');
  first.child.kill('SIGKILL');
  await first.exit;
  ill('one');
  rig.spawn('health-monitor', fast);
  await told(rig, 'one', 'VolumeConditionNormal');
});

test('[HLT-1] a driver that fails once is asked again', async (t) => {
  const { rig, driver, ill } = await healthRig(t);
  ill('one', 'degraded');
  driver.script('ListVolumes', { fail: 'INTERNAL' });
  const monitor = rig.spawn('health-monitor', fast);
  await monitor.said('Could not read the conditions of volumes; trying again');
  await told(rig, 'one', 'VolumeConditionAbnormal');
});

test('[HLT-1] a driver that reports no conditions is rejected with what it lacks', async (t) => {
  const { rig } = await healthRig(t, ['LIST_VOLUMES']);
  const monitor = rig.spawn('health-monitor');
  assert.equal((await monitor.exit).code, 1);
  assert.match(monitor.output(), /needs VOLUME_CONDITION, and LIST_VOLUMES or GET_VOLUME/);
});

test('[HLT-1] with the node watcher, a lost node and its return are events on the pods whose volumes it holds', async (t) => {
  const { rig } = await healthRig(t);
  const { admin } = rig;
  await admin.create(nodes, { metadata: { name: 'n1' } });
  const say = (status: 'True' | 'Unknown') => {
    const lastTransitionTime = '2020-01-01T00:00:00Z';
    const conditions = [{ type: 'Ready', status, lastTransitionTime }];
    const patch = { status: { conditions } };
    return admin.patch(nodes, { name: 'n1' }, patch, { type: 'merge', subresource: 'status' });
  };
  await say('True');
  for (const [name, claimName] of [
    ['user', 'one'],
    ['other', undefined],
  ] as const) {
    const volumes = claimName === undefined ? [] : [{ name: 'data', persistentVolumeClaim: { claimName } }];
    const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], volumes };
    await admin.create(pods, { metadata: { name, namespace: 'default' }, spec });
  }
  const monitor = rig.spawn('health-monitor', [...fast, '--enable-node-watcher']);
  await monitor.said('Monitoring the condition of volumes');
  await say('Unknown');
  const lost = await told(rig, 'user', 'NodeFailed');
  assert.match(lost.message ?? '', /Node n1 is lost; it holds the volumes of default\/one/);
  await told(rig, 'one', 'NodeFailed');
  await say('True');
  await told(rig, 'user', 'NodeRecovered');
  const { items } = await admin.list(events);
  assert.ok(items.every(({ involvedObject }) => involvedObject.name !== 'other'));
});
