// The node with hostpath: real sockets, real bind mounts and loop devices, one or two nodes of one machine.

import assert from 'node:assert/strict';
import { lstat, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking } from '../../test/capabilities.ts';
import type { Pod } from '../api/kinds.ts';
import { csiNodes } from '../api/kinds.ts';
import { ANN_PUBLISHED_VOLUMES } from '../api/well-known.ts';
import { csiClient } from '../csi/client/csi-client.ts';
import { loopbackTransport } from '../csi/client/loopback-transport.ts';
import { Controller } from '../csi/generated/csi/v1/csi_pb.ts';
import { volumeCapability } from '../csi/messages/volume-capability.ts';
import { driverServices } from '../driver/driver-services.ts';
import { createHostpath } from '../driver/hostpath/create-hostpath.ts';
import { memoryLog } from '../runtime/log/log.ts';
import { openLinuxMounter } from '../runtime/mount/linux-mounter.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { inWorld, type NodeWorld } from './testing/node-world.ts';

const DRIVER = 'hostpath.csi.berth';
const needsRoot = { skip: lacking('root') };
const needsLoop = { skip: lacking('root', 'loop', 'mkfs.ext4') };

/** hostpath for these nodes, with its controller to create and attach volumes. */
async function hostpath(world: NodeWorld, nodes: readonly string[]) {
  const mounter = await openLinuxMounter();
  const log = memoryLog();
  const driver = await createHostpath({
    stateDir: join(world.directory, 'state'),
    clock: realClock,
    random: realRandom,
    log,
    mounter,
  });
  world.t.after(() => driver.close());
  const controller = csiClient(
    Controller,
    loopbackTransport(driverServices(driver.driver({ controller: true }), { log }), {
      clock: realClock,
      log,
    }),
    { timeoutMs: 30_000 },
  );
  for (const node of nodes) {
    const topology = { 'topology.hostpath.csi.berth/zone': 'z' };
    const services = driverServices(driver.driver({ node: { nodeId: `id-${node}`, topology } }), { log });
    await world.register(node, { name: DRIVER, services });
    await world.until(csiNodes, node, (now) => now?.spec?.drivers?.[0]?.nodeID === `id-${node}`);
  }

  return {
    async volume(
      name: string,
      options: {
        mode?: 'ReadWriteOnce' | 'ReadWriteMany';
        block?: boolean;
        backing?: 'image';
        fsType?: string;
      } = {},
    ) {
      const { mode = 'ReadWriteOnce', block = false, fsType = '' } = options;
      const capability = volumeCapability({
        accessModes: [mode],
        volumeMode: block ? 'Block' : 'Filesystem',
        fsType,
        singleNodeMultiWriter: true,
      });
      const made = await controller.createVolume({
        name,
        volumeCapabilities: [capability],
        capacityRange: { requiredBytes: 64n << 20n },
        parameters: options.backing ? { backing: options.backing } : {},
      });
      const handle = made.volume?.volumeId ?? '';
      await world.volume({
        name,
        driver: DRIVER,
        handle,
        csi: { volumeAttributes: { ...made.volume?.volumeContext }, ...(fsType && { fsType }) },
        spec: { accessModes: [mode], volumeMode: block ? 'Block' : 'Filesystem' },
      });
      return {
        handle,
        async attach(node = 'n1') {
          const answer = await controller.controllerPublishVolume({
            volumeId: handle,
            nodeId: `id-${node}`,
            volumeCapability: capability,
          });
          await world.attach(`pv-${name}`, {
            driver: DRIVER,
            handle,
            node,
            context: { ...answer.publishContext },
          });
        },
        async remove(node = 'n1') {
          await controller.controllerUnpublishVolume({ volumeId: handle, nodeId: `id-${node}` });
        },
        async delete() {
          await controller.deleteVolume({ volumeId: handle });
        },
      };
    },
  };
}

const claimVolume = (name: string, readOnly = false) => ({
  name,
  persistentVolumeClaim: { claimName: name, readOnly },
});
const pathOf = (pod: Pod, volume: string): string =>
  JSON.parse(pod.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] ?? '{}')[volume];

async function realWorld(t: TestContext, body: (world: NodeWorld) => Promise<void>): Promise<void> {
  await inWorld(t, { mounter: await openLinuxMounter() }, body);
}

test(
  '[MNT-1] [MNT-2] a directory volume: what one pod writes the next one reads, and nothing is left of either',
  needsRoot,
  (t) =>
    realWorld(t, async (world) => {
      await world.startNode();
      const volumes = await hostpath(world, ['n1']);
      await world.driverObject(DRIVER);
      const data = await volumes.volume('data');
      const first = await world.pod('a', [claimVolume('data')]);
      await data.attach();
      const path = pathOf(await world.untilRunning(first), 'data');
      assert.ok(await world.mounter.isMountPoint(path));
      await writeFile(join(path, 'hello'), 'world');
      await world.deletePod(first);
      await world.untilGone(first);
      await world.untilInUse('n1', []);
      const second = await world.untilRunning(await world.pod('b', [claimVolume('data', true)]));
      const readOnly = pathOf(second, 'data');
      assert.equal(await readFile(join(readOnly, 'hello'), 'utf8'), 'world');
      await assert.rejects(writeFile(join(readOnly, 'more'), ''), { code: 'EROFS' });
      await world.deletePod(second);
      await world.untilGone(second);
      await world.untilInUse('n1', []);
      assert.deepEqual(await readdir(join(world.root('n1'), 'pods')), []);
      await data.remove();
      await data.delete();
    }),
);

test('[MNT-3] an image with ext4 gets the pod’s group; a raw block volume is a device', needsLoop, (t) =>
  realWorld(t, async (world) => {
    await world.startNode();
    const volumes = await hostpath(world, ['n1']);
    await world.driverObject(DRIVER);
    const [image, disk] = [
      await volumes.volume('image', { backing: 'image', fsType: 'ext4' }),
      await volumes.volume('disk', { block: true }),
    ];
    const pod = await world.pod('p', [claimVolume('image'), claimVolume('disk')], {
      spec: { securityContext: { fsGroup: 4711 } },
    });
    await image.attach();
    await disk.attach();
    const running = await world.untilRunning(pod);
    const root = await stat(pathOf(running, 'image'));
    assert.equal(root.gid, 4711);
    assert.equal(root.mode & 0o2770, 0o2770);
    assert.ok((await lstat(pathOf(running, 'disk'))).isBlockDevice());
    await world.deletePod(pod);
    await world.untilGone(pod);
    await world.untilInUse('n1', []);
    for (const volume of [image, disk]) {
      await volume.remove();
      await volume.delete();
    }
  }),
);

test(
  '[MNT-5] two nodes: a pod moves with its volume, and a ReadWriteMany volume is on both at once',
  needsRoot,
  (t) =>
    realWorld(t, async (world) => {
      await Promise.all([world.startNode('n1'), world.startNode('n2')]);
      const volumes = await hostpath(world, ['n1', 'n2']);
      await world.driverObject(DRIVER);
      const [moved, shared] = [
        await volumes.volume('moved'),
        await volumes.volume('shared', { mode: 'ReadWriteMany' }),
      ];
      await moved.attach('n1');
      await shared.attach('n1');
      const first = await world.untilRunning(
        await world.pod('a', [claimVolume('moved'), claimVolume('shared')]),
      );
      await writeFile(join(pathOf(first, 'moved'), 'from'), 'n1');
      await shared.attach('n2');
      const other = await world.untilRunning(await world.pod('c', [claimVolume('shared')], { node: 'n2' }));
      await writeFile(join(pathOf(other, 'shared'), 'seen'), 'everywhere');
      assert.equal(await readFile(join(pathOf(first, 'shared'), 'seen'), 'utf8'), 'everywhere');
      await world.deletePod(first);
      await world.untilGone(first);
      await world.untilInUse('n1', []);
      await moved.remove('n1');
      await moved.attach('n2');
      const second = await world.untilRunning(await world.pod('b', [claimVolume('moved')], { node: 'n2' }));
      assert.ok(pathOf(second, 'moved').startsWith(world.root('n2')));
      assert.equal(await readFile(join(pathOf(second, 'moved'), 'from'), 'utf8'), 'n1');
      for (const pod of [second, other]) await world.deletePod(pod);
      for (const pod of [second, other]) await world.untilGone(pod);
      await world.untilInUse('n2', []);
      for (const node of ['n1', 'n2']) await shared.remove(node);
      await moved.remove('n2');
      for (const volume of [moved, shared]) await volume.delete();
    }),
);

test(
  '[MNT-4] a node that restarts keeps the volumes of running pods, and unmounts those of pods deleted meanwhile',
  needsRoot,
  (t) =>
    realWorld(t, async (world) => {
      const node = await world.startNode();
      const volumes = await hostpath(world, ['n1']);
      await world.driverObject(DRIVER);
      const [kept, gone] = [await volumes.volume('kept'), await volumes.volume('gone')];
      await kept.attach();
      await gone.attach();
      const stays = await world.untilRunning(await world.pod('stays', [claimVolume('kept')]));
      const goes = await world.untilRunning(await world.pod('goes', [claimVolume('gone')]));
      const [keptPath, gonePath] = [pathOf(stays, 'kept'), pathOf(goes, 'gone')];
      const before = (await world.mounter.mountsAt(keptPath)).map(({ id }) => id);
      await node.stop();
      await world.deletePod(goes, 0);
      await mkdir(join(world.root('n1'), 'pods', 'empty-orphan', 'volumes', 'kubernetes.io~csi', 'x'), {
        recursive: true,
      });
      assert.ok(await world.mounter.isMountPoint(gonePath));
      await world.startNode();
      await world.untilInUse('n1', [`kubernetes.io/csi/${DRIVER}^${kept.handle}`]);
      assert.ok(!(await world.mounter.isMountPoint(gonePath)));
      assert.deepEqual(
        (await world.mounter.mountsAt(keptPath)).map(({ id }) => id),
        before,
        'it was never unmounted',
      );
      while ((await readdir(join(world.root('n1'), 'pods'))).length > 1)
        await new Promise((resolve) => setTimeout(resolve, 10));
      assert.deepEqual(await readdir(join(world.root('n1'), 'pods')), [stays.metadata.uid]);
      await world.deletePod(stays);
      await world.untilGone(stays);
      await world.untilInUse('n1', []);
      for (const volume of [kept, gone]) {
        await volume.remove();
        await volume.delete();
      }
    }),
);

test(
  'a mount that was removed from outside is detected at the next registration and mounted again',
  needsRoot,
  (t) =>
    realWorld(t, async (world) => {
      const node = await world.startNode();
      const volumes = await hostpath(world, ['n1']);
      await world.driverObject(DRIVER);
      const data = await volumes.volume('data');
      await data.attach();
      const pod = await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      const path = pathOf(pod, 'data');
      await world.mounter.unmount(path);
      await node.stop();
      await world.startNode();
      while (!(await world.mounter.isMountPoint(path)))
        await new Promise((resolve) => setTimeout(resolve, 10));
      await world.deletePod(pod);
      await world.untilGone(pod);
      await world.untilInUse('n1', []);
      await data.remove();
      await data.delete();
    }),
);
