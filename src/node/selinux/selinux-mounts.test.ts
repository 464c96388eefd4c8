// The mount option as it reaches a driver behind its socket. Its effect on files needs a host with SELinux.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { PodSpec } from '../../api/kinds.ts';
import type { NodePublishVolumeRequest, NodeStageVolumeRequest } from '../../csi/generated/csi/v1/csi_pb.ts';
import { inWorld, type NodeWorld } from '../testing/node-world.ts';

const selinux = { fileLabel: 'system_u:object_r:container_file_t:s0' };
const optionOf = (level: string) => `context="system_u:object_r:container_file_t:${level}"`;

async function start(world: NodeWorld, options: { seLinuxMount?: boolean; mode?: string } = {}) {
  const node = { selinux, seLinuxMount: options.seLinuxMount ?? false };
  const running = await world.startNode('n1', node);
  const driver = world.scripted();
  await world.driverObject(driver.name, { attachRequired: false, seLinuxMount: true });
  await world.register('n1', driver);
  await world.volume({
    name: 'data',
    driver: driver.name,
    spec: { accessModes: [options.mode ?? 'ReadWriteOncePod'], mountOptions: ['noatime'] },
  });
  const pod = (name: string, level: string) =>
    world.pod(name, [{ name: 'vol', persistentVolumeClaim: { claimName: 'data' } }], {
      spec: {
        securityContext: { seLinuxOptions: { level } },
        containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'vol', mountPath: '/vol' }] }],
      } as Partial<PodSpec>,
    });
  const stagedWith = () =>
    driver
      .callsOf<NodeStageVolumeRequest>('NodeStageVolume')
      .map(({ volumeCapability }) => flagsOf(volumeCapability));
  const publishedWith = () =>
    driver
      .callsOf<NodePublishVolumeRequest>('NodePublishVolume')
      .map(({ volumeCapability }) => flagsOf(volumeCapability));
  return { driver, pod, stagedWith, publishedWith, running, node };
}

function flagsOf(capability: NodeStageVolumeRequest['volumeCapability']): string[] {
  const type = capability?.accessType;
  return type?.case === 'mount' ? type.value.mountFlags : [];
}

test("[NOD-7] the pod's label reaches NodeStageVolume and NodePublishVolume as a mount option, and the record", async (t) => {
  await inWorld(t, {}, async (world) => {
    const { pod, stagedWith, publishedWith, driver } = await start(world);
    const web = await pod('web', 's0:c1,c2');
    await world.untilRunning(web);
    const flags = ['noatime', optionOf('s0:c1,c2')];
    assert.deepEqual(stagedWith(), [flags]);
    assert.deepEqual(publishedWith(), [flags]);
    const [target] = driver.published.keys();
    const record = JSON.parse(await readFile(join(target ?? '', '../vol_data.json'), 'utf8'));
    assert.equal(record.seLinuxMountContext, 'system_u:object_r:container_file_t:s0:c1,c2');
    await world.deletePod(web);
    await world.untilGone(web);
  });
});

test('[NOD-7] ReadWriteOnce has no option without the gate SELinuxMount', async (t) => {
  await inWorld(t, {}, async (world) => {
    const { pod, stagedWith } = await start(world, { mode: 'ReadWriteOnce' });
    const web = await pod('web', 's0:c1,c2');
    await world.untilRunning(web);
    assert.deepEqual(stagedWith(), [['noatime']]);
    await world.deletePod(web);
    await world.untilGone(web);
  });
});

test('[NOD-7] a pod with another label waits for the first to end; then the volume is staged again', async (t) => {
  await inWorld(t, {}, async (world) => {
    const { pod, stagedWith, driver } = await start(world, { mode: 'ReadWriteOnce', seLinuxMount: true });
    const first = await pod('first', 's0:c1');
    await world.untilRunning(first);
    const same = await pod('same', 's0:c1');
    await world.untilRunning(same);
    const other = await pod('other', 's0:c9');
    const why = await world.untilEvent('FailedMount', /another SELinux label/);
    assert.match(
      why,
      /volume pv-data is mounted for pod default\/(first|same) with another SELinux label than/,
    );
    assert.match(why, /s0:c9, which this pod needs; waiting for that pod to end/);
    await world.deletePod(first);
    await world.untilGone(first);
    await world.deletePod(same);
    await world.untilRunning(other);
    assert.deepEqual(stagedWith(), [
      ['noatime', optionOf('s0:c1')],
      ['noatime', optionOf('s0:c9')],
    ]);
    assert.equal(driver.callsOf('NodeUnstageVolume').length, 1);
    await world.deletePod(other);
    await world.untilGone(other);
  });
});

test('[NOD-7] a restarted node sets a running pod up again with the label that it has', async (t) => {
  await inWorld(t, {}, async (world) => {
    const { pod, stagedWith, running, node, driver } = await start(world);
    const web = await pod('web', 's0:c1,c2');
    await world.untilRunning(web);
    await running.stop();
    await world.startNode('n1', node);
    await driver.until(() => driver.callsOf('NodePublishVolume').length === 2);
    const flags = ['noatime', optionOf('s0:c1,c2')];
    assert.deepEqual(stagedWith(), [flags, flags]);
    assert.equal(driver.callsOf('NodeUnstageVolume').length, 0);
    await world.deletePod(web);
    await world.untilGone(web);
  });
});
