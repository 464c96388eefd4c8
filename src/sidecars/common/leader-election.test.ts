// Two attachers as real processes with one lease. The leader is killed, or terminated, while calls are in flight: the
// other takes over, nothing is lost, and nothing is done twice.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  csiNodes,
  leases,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { attachment, DRIVER, existing, ourNode, pv } from '../attacher/testing/attacher-world.ts';
import { type SidecarProcess, type SidecarRig, sidecarRig } from '../testing/sidecar-rig.ts';

const flags = [
  '--leader-election',
  '--leader-election-lease-duration=2s',
  '--leader-election-renew-deadline=1500ms',
  '--leader-election-retry-period=500ms',
  '--retry-interval-start=100ms',
];

async function makeAttachments(rig: SidecarRig, driver: ScriptedDriver, names: string[]): Promise<void> {
  for (const name of names) {
    existing(driver, `vol-${name}`);
    await rig.admin.create(persistentVolumes, pv(name) as never);
    await rig.admin.create(volumeAttachments, attachment(name, { persistentVolumeName: name }) as never);
  }
}

async function untilAll(
  rig: SidecarRig,
  holds: (each: VolumeAttachment) => boolean,
  count: number,
): Promise<void> {
  const waiting = new Set<string>();
  const signal = AbortSignal.timeout(40_000);
  const seen = new Set<string>();
  for await (const event of rig.admin.watch(volumeAttachments, {
    sendInitialEvents: true,
    allowBookmarks: true,
    signal,
  })) {
    if (event.type === 'BOOKMARK') continue;
    const { name } = event.object.metadata;
    seen.add(name);
    if (holds(event.object)) waiting.delete(name);
    else waiting.add(name);
    if (seen.size === count && waiting.size === 0) return;
  }
}

async function holder(rig: SidecarRig): Promise<string> {
  const { items } = await rig.admin.list(leases, { namespace: 'default' });
  return items[0]?.spec?.holderIdentity ?? '';
}

for (const [signal, ending] of [
  ['SIGKILL', { code: null, signal: 'SIGKILL' }],
  ['SIGTERM', { code: 0, signal: null }],
] as const) {
  test(`[SIDE-5] the leader gets ${signal} in the middle of its work: the other replica finishes it`, async (t) => {
    const rig = await sidecarRig(t);
    const driver = new ScriptedDriver({ name: DRIVER });
    await rig.serve(driver);
    await rig.admin.create(csiNodes, ourNode() as never);
    const leader = rig.spawn('attacher', flags);
    await leader.said('Acquired the lease');
    const standby = rig.spawn('attacher', flags);
    await standby.said('Another leads');
    const first = await holder(rig);
    await makeAttachments(rig, driver, ['a', 'b', 'c']);
    await untilAll(rig, (each) => each.status?.attached === true, 3);

    // Three more, which the driver does not answer before the leader is gone.
    let answer = () => {};
    const gate = new Promise<void>((resolve) => {
      answer = resolve;
    });
    driver.script('ControllerPublishVolume', { until: gate }, { until: gate }, { until: gate });
    await makeAttachments(rig, driver, ['d', 'e', 'f']);
    await driver.until(() => driver.callsOf('ControllerPublishVolume').length === 6);
    leader.child.kill(signal);
    assert.deepEqual(await leader.exit, ending);
    answer();
    await standby.said('Acquired the lease');
    await makeAttachments(rig, driver, ['g']);
    await untilAll(rig, (each) => each.status?.attached === true, 7);

    assert.notEqual(await holder(rig), first);
    const calls = driver
      .callsOf<{ volumeId: string }>('ControllerPublishVolume')
      .map((call) => call.volumeId);
    for (const name of ['a', 'b', 'c', 'g']) {
      assert.equal(calls.filter((id) => id === `vol-${name}`).length, 1, `${name} was attached once`);
    }
    for (const volume of driver.volumes.values()) {
      assert.deepEqual([...volume.publishedOn.keys()], ['id-node-a'], volume.id);
    }
    await stopped(standby);
    assert.equal(await holder(rig), '', 'the lease is given back');
  });
}

async function stopped(process: SidecarProcess): Promise<void> {
  process.child.kill('SIGTERM');
  assert.deepEqual(await process.exit, { code: 0, signal: null });
}

test('[SIDE-5] without the gate the lease is kept until it runs out, as official sidecars do by default', async (t) => {
  const rig = await sidecarRig(t);
  await rig.serve(new ScriptedDriver({ name: DRIVER }));
  const leader = rig.spawn('attacher', [...flags, '--feature-gates=ReleaseLeaderElectionOnExit=false']);
  await leader.said('Acquired the lease');
  await stopped(leader);
  assert.notEqual(await holder(rig), '');
});

test('[SIDE-5] the lease has the official name, labels and namespace', async (t) => {
  const rig = await sidecarRig(t);
  await rig.serve(new ScriptedDriver({ name: DRIVER }));
  const leader = rig.spawn('attacher', [
    ...flags,
    '--leader-election-labels=team:storage,tier:1',
    '--leader-election-namespace=kube-system',
  ]);
  await leader.said('Acquired the lease');
  const name = 'external-attacher-leader-scripted-csi-test';
  const lease = await rig.admin.get(leases, { namespace: 'kube-system', name });
  assert.deepEqual(lease.metadata.labels, { team: 'storage', tier: '1' });
  assert.equal(lease.spec?.leaseDurationSeconds, 2);
  await stopped(leader);
});
