// A cluster under virtual time with a driver of the SDK: the whole life of a volume, retries included, without root.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims } from '../api/kinds.ts';
import { defineDriver } from '../driver/driver.ts';
import { refuse } from '../driver/refuse.ts';
import { startVirtualCluster } from './start-virtual-cluster.ts';
import type { VirtualMachine } from './virtual-node.ts';

/** Volumes are names in a set that all nodes share. */
function driverOf(
  volumes: Set<string>,
  faults: { create?: (attempt: number) => void; delete?: () => void } = {},
) {
  let attempts = 0;
  return ({ nodeName, mounter }: VirtualMachine) =>
    defineDriver({
      name: 'virtual.csi.test',
      version: '1',
      controller: {
        createVolume({ name, capacityRange }) {
          faults.create?.(++attempts);
          volumes.add(name);
          return { volume: { volumeId: name, capacityBytes: capacityRange?.requiredBytes ?? 0n } };
        },
        deleteVolume({ volumeId }) {
          faults.delete?.();
          volumes.delete(volumeId);
          return {};
        },
        validateVolumeCapabilities: ({ volumeCapabilities }) => ({ confirmed: { volumeCapabilities } }),
      },
      node: {
        nodeGetInfo: () => ({ nodeId: nodeName }),
        async nodePublishVolume({ volumeId, targetPath }) {
          if (await mounter.isMountPoint(targetPath)) return {};
          await mounter.mount({ source: volumeId, target: targetPath, fsType: 'tmpfs', options: [] });
          return {};
        },
        async nodeUnpublishVolume({ targetPath }) {
          await mounter.unmount(targetPath);
          return {};
        },
      },
    });
}

test('[BYO-4] under virtual time a volume is created, used on two nodes in turn, and deleted', async () => {
  const volumes = new Set<string>();
  await using cluster = await startVirtualCluster({ driver: driverOf(volumes), nodes: 2 });
  const volume = await cluster.createClaim('data', { size: '1Gi' });
  assert.equal(volume.spec.csi?.driver, 'virtual.csi.test');
  const first = await cluster.runPod('first', { claim: 'data', node: 'node-1' });
  assert.deepEqual(cluster.mountsOn('node-1'), [first.path]);
  await cluster.deletePod('first');
  const second = await cluster.runPod('second', { claim: 'data', node: 'node-2' });
  assert.deepEqual([cluster.mountsOn('node-1'), cluster.mountsOn('node-2')], [[], [second.path]]);
  await cluster.deletePod('second');
  await cluster.deleteClaim('data');
  assert.equal(volumes.size, 0);
  assert.deepEqual(
    cluster.calls('NodePublishVolume').map(({ by, code }) => [by, code]),
    [
      ['node-1', 'OK'],
      ['node-2', 'OK'],
    ],
  );
});

test('[BYO-4] ten failures with backoff take no real time, and a wait that ends says what the driver said', async () => {
  const fails = (until: number) => (attempt: number) => {
    if (attempt <= until) throw refuse.internal(`attempt ${attempt} failed`);
  };
  const volumes = new Set<string>();
  await using cluster = await startVirtualCluster({ driver: driverOf(volumes, { create: fails(10) }) });
  const startMs = cluster.clock.monotonicMs();
  await cluster.createClaim('late');
  assert.equal(cluster.calls('CreateVolume').length, 11);
  assert.ok(cluster.clock.monotonicMs() - startMs > 60_000, 'the backoff was waited for');
  await using broken = await startVirtualCluster({
    driver: driverOf(new Set(), { create: fails(1e9) }),
    timeoutMs: 120_000,
  });
  await assert.rejects(
    broken.createClaim('never'),
    /CreateVolume failed \d+ times, .*INTERNAL.*attempt \d+ failed/,
  );
  await broken.kube.delete(persistentVolumeClaims, { namespace: 'default', name: 'never' });
});

test('[BYO-4] what the driver leaves behind fails the test', async () => {
  const stuck = () => {
    throw refuse.internal('stuck');
  };
  const cluster = await startVirtualCluster({ driver: driverOf(new Set(), { delete: stuck }) });
  await cluster.createClaim('data');
  await assert.rejects(cluster.stop(), /left something behind: volume pvc-.* could not be removed in time/);
});
