import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  configMaps,
  csiNodes,
  events,
  nodes,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
} from '../../api/kinds.ts';
import { keyOf, type Resource } from '../../api/object.ts';
import { ephemeralVolumeHandle } from '../../api/volumes.ts';
import { ANN_PUBLISHED_VOLUMES } from '../../api/well-known.ts';
import type {
  NodeExpandVolumeRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
} from '../../csi/generated/csi/v1/csi_pb.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Clock } from '../../runtime/ports.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { inWorld, type NodeWorld } from '../testing/node-world.ts';

const DRIVER = 'scripted.csi.test';
const here = { namespace: 'default' };
const claimVolume = (name: string, claimName = name, readOnly = false) => ({
  name,
  persistentVolumeClaim: { claimName, readOnly },
});

// At once, because most of their time is spent waiting: for retries, grace periods, other nodes.
describe('the volume manager', { concurrency: 8 }, () => {
  test('[MNT-1] waits for the attach, stages once for two pods, publishes at a path per pod and volume, passes the publish context', (t) =>
    inWorld(t, {}, async (world) => {
      const driver = world.scripted();
      await world.startNode();
      await world.register('n1', driver);
      await world.driverObject(DRIVER);
      await world.volume({ name: 'data', driver: DRIVER, csi: { volumeAttributes: { made: 'by hand' } } });
      const pods = [
        await world.pod('a', [claimVolume('data')]),
        await world.pod('b', [claimVolume('vol', 'data')]),
      ];
      await world.untilInUse('n1', [`kubernetes.io/csi/${DRIVER}^handle-data`]);
      assert.deepEqual(
        driver.calls.filter(({ method }) => method.includes('Volume')),
        [],
        'nothing before it is attached',
      );
      await world.attach('pv-data', { driver: DRIVER, handle: 'handle-data', context: { device: '/dev/x' } });
      const running = await Promise.all(pods.map((pod) => world.untilRunning(pod)));
      const staged = driver.callsOf<NodeStageVolumeRequest>('NodeStageVolume');
      assert.equal(staged.length, 1);
      assert.deepEqual({ ...staged[0]?.publishContext }, { device: '/dev/x' });
      const published = driver.callsOf<NodePublishVolumeRequest>('NodePublishVolume');
      assert.deepEqual(
        published.map(({ targetPath }) => targetPath.replace(world.root('n1'), '')).sort(),
        running.map((pod) => `/pods/${pod.metadata.uid}/volumes/kubernetes.io~csi/pv-data/mount`).sort(),
      );
      for (const call of published) {
        assert.deepEqual({ ...call.publishContext }, { device: '/dev/x' });
        assert.deepEqual({ ...call.volumeContext }, { made: 'by hand' });
        assert.equal(call.stagingTargetPath, staged[0]?.stagingTargetPath);
      }
      assert.equal(driver.mostAtOnce.get('handle-data'), 1, 'one call at a time for a volume');
      await Promise.all(pods.map((pod) => world.deletePod(pod)));
      await Promise.all(pods.map((pod) => world.untilGone(pod)));
      await world.untilInUse('n1', []);
      assert.equal(driver.callsOf('NodeUnpublishVolume').length, 2);
      assert.equal(driver.callsOf('NodeUnstageVolume').length, 1);
    }));

  /** A node with the scripted driver; by default its volumes need no attach. */
  async function ready(
    world: NodeWorld,
    options: {
      spec?: object;
      driver?: Parameters<NodeWorld['scripted']>[0];
      podInfo?: boolean;
      through?: (kube: KubeClient) => KubeClient;
    } = {},
  ) {
    const driver = world.scripted(options.driver ?? {});
    const node = await world.startNode('n1', options.through ? { through: options.through } : {});
    await world.driverObject(DRIVER, { attachRequired: false, ...options.spec });
    const registrar = await world.register(
      'n1',
      driver,
      options.podInfo === undefined ? {} : { podInfo: options.podInfo },
    );
    return { driver, node, registrar };
  }

  const lastPublish = (driver: { callsOf<T>(method: string): T[] }) =>
    driver.callsOf<NodePublishVolumeRequest>('NodePublishVolume').at(-1) as NodePublishVolumeRequest;

  test('a pod becomes Running once its volumes are mounted, lists their paths, and is removed only after they are unmounted', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      const release = Promise.withResolvers<void>();
      driver.script('NodePublishVolume', { until: release.promise });
      const pod = await world.pod('p', [claimVolume('data'), { name: 'scratch', emptyDir: {} }]);
      await driver.until(() => driver.callsOf('NodePublishVolume').length === 1);
      assert.equal(
        (await world.admin.get(pods, { name: 'p', namespace: 'default' })).status?.phase,
        'Pending',
      );
      release.resolve();
      const running = await world.untilRunning(pod);
      const path = lastPublish(driver).targetPath;
      assert.deepEqual(JSON.parse(running.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] ?? ''), {
        data: path,
      });
      for (const type of ['Ready', 'ContainersReady', 'Initialized']) {
        assert.equal(running.status?.conditions?.find((each) => each.type === type)?.status, 'True', type);
      }
      driver.always('NodeUnpublishVolume', { fail: 'INTERNAL', message: 'busy' });
      await world.deletePod(pod);
      await world.untilEvent('FailedUnMount', /UnmountVolume.*busy/);
      assert.ok(await world.exists(pods, keyOf(pod)), 'it is still there while its volume is');
      driver.always('NodeUnpublishVolume', undefined);
      await world.untilGone(pod);
      assert.equal(world.memory.mounts.length, 0);
      assert.deepEqual(await readdir(join(world.root('n1'), 'pods')), []);
    }));

  test('[NOD-6] a volume of a driver that attaches nothing is reported in use until it is unstaged, after its pod is gone', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      const { pv } = await world.volume({ name: 'data', driver: DRIVER });
      const release = Promise.withResolvers<void>();
      driver.script('NodeUnstageVolume', { until: release.promise });
      const pod = await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      const inUse = `kubernetes.io/csi/${DRIVER}^${pv.spec.csi?.volumeHandle}`;
      await world.until(nodes, 'n1', (now) => now?.status?.volumesInUse?.includes(inUse) ?? false);
      await world.deletePod(pod);
      await world.untilGone(pod);
      await driver.until(() => driver.callsOf('NodeUnstageVolume').length === 1);
      assert.deepEqual((await world.admin.get(nodes, { name: 'n1' })).status?.volumesInUse, [inUse]);
      release.resolve();
      await world.until(nodes, 'n1', (now) => (now?.status?.volumesInUse ?? []).length === 0);
    }));

  test('[NOD-6] a volume of a driver that attaches nothing is reported in use before it is staged', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      const { pv } = await world.volume({ name: 'data', driver: DRIVER });
      const release = Promise.withResolvers<void>();
      driver.script('NodeStageVolume', { until: release.promise });
      const pod = await world.pod('p', [claimVolume('data')]);
      await driver.until(() => driver.callsOf('NodeStageVolume').length === 1);
      const { status } = await world.admin.get(nodes, { name: 'n1' });
      assert.deepEqual(status?.volumesInUse, [`kubernetes.io/csi/${DRIVER}^${pv.spec.csi?.volumeHandle}`]);
      release.resolve();
      await world.untilRunning(pod);
    }));

  test('a grace period is honoured: the volume stays until it is over', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      const pod = await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      await world.deletePod(pod, 2);
      const deleting = await world.until(
        pods,
        keyOf(pod),
        (now) => now?.metadata.deletionTimestamp !== undefined,
      );
      await world.untilGone(pod);
      assert.ok(Date.now() >= Date.parse(deleting?.metadata.deletionTimestamp ?? ''), 'not before the end');
      assert.equal(driver.callsOf('NodeUnpublishVolume').length, 1);
    }));

  test('[MNT-2] failures of unpublish and unstage are retried, and nothing is removed before it is unmounted', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      const pod = await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      const path = lastPublish(driver).targetPath;
      await mkdir(path);
      // It reports success without having mounted.
      driver.script('NodeUnpublishVolume', { fail: 'UNAVAILABLE' }, { fail: 'INTERNAL' });
      driver.script('NodeUnstageVolume', { fail: 'DEADLINE_EXCEEDED' });
      await world.deletePod(pod);
      await driver.until(() => driver.callsOf('NodeUnpublishVolume').length === 2);
      assert.ok(await world.mounter.isMountPoint(path));
      assert.ok((await readdir(dirname(path))).includes('vol_data.json'), 'the record stays');
      await world.untilGone(pod);
      await driver.until(() => driver.staged.size === 0);
      assert.equal(driver.callsOf('NodeUnstageVolume').length, 2);
      await world.untilInUse('n1', []);
    }));

  test('a driver that reports success without mounting is detected and called again', (t) =>
    inWorld(t, {}, async (world) => {
      const driver = world.scripted();
      await world.startNode();
      await world.driverObject(DRIVER, { attachRequired: false });
      let lies = 2;
      await world.register('n1', {
        ...driver,
        name: driver.name,
        services: driver.services,
        interceptors: [
          driver.interceptor,
          async (call, next) => {
            if (call.method.name === 'NodePublishVolume' && lies-- > 0) return await next();
            const answer = await next();
            const { targetPath } = call.request as { targetPath?: string };
            if (targetPath && call.method.name === 'NodePublishVolume')
              await world.mounter.bind('/source', targetPath);
            if (targetPath && call.method.name === 'NodeUnpublishVolume')
              await world.mounter.unmount(targetPath);
            return answer;
          },
        ],
      });
      await world.volume({ name: 'data', driver: DRIVER });
      const pod = await world.pod('p', [claimVolume('data')]);
      await world.untilEvent(
        'FailedMount',
        /answered that volume handle-data is published, but nothing is mounted/,
      );
      await world.untilRunning(pod);
      assert.equal(driver.callsOf('NodePublishVolume').length, 3);
    }));

  test('a waiting pod states why: no claim, not bound, not attached, no driver', (t) =>
    inWorld(t, {}, async (world) => {
      await world.startNode();
      await world.driverObject(DRIVER);
      const pod = await world.pod('p', [claimVolume('data')]);
      const message = (now: Pod | undefined) =>
        now?.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
      const untilMessage = (text: RegExp) => world.until(pods, keyOf(pod), (now) => text.test(message(now)));
      await untilMessage(/volume data: claim default\/data does not exist/);
      await world.volume({ name: 'data', driver: DRIVER });
      await untilMessage(/driver scripted\.csi\.test is not registered on node n1 \(registered: none\)/);
      const driver = world.scripted();
      await world.register('n1', driver);
      await untilMessage(/not attached to node n1: waiting for the attach\/detach controller/);
      await world.attach('pv-data', { driver: DRIVER, handle: 'handle-data' });
      await world.untilRunning(pod);
    }));

  test("[NOD-1] a volume whose node affinity does not match waits with the kubelet's event, until the node's labels do", (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      const matchExpressions = [{ key: 'example.test/zone', operator: 'In', values: ['b'] }];
      const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
      await world.volume({ name: 'data', driver: DRIVER, spec: { nodeAffinity } });
      const pod = await world.pod('p', [claimVolume('data')]);
      const text =
        /^MountVolume\.NodeAffinity check failed for volume "pv-data" : no matching NodeSelectorTerms$/;
      await world.untilEvent('FailedMount', text);
      const why = /node n1 does not match the node affinity of PersistentVolume pv-data/;
      await world.until(
        pods,
        keyOf(pod),
        (now) => now?.status?.conditions?.some(({ message }) => why.test(message ?? '')) ?? false,
      );
      assert.deepEqual(
        driver.calls.filter(({ method }) => method.includes('Volume')),
        [],
        'nothing was asked of the driver',
      );
      const labels = { 'example.test/zone': 'b' };
      await world.admin.patch(nodes, { name: 'n1' }, { metadata: { labels } }, { type: 'merge' });
      await world.untilRunning(pod);
    }));

  test('no failure is reported for sixty volumes of a node that restarts before its driver registers', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver, node, registrar } = await ready(world);
      const names = Array.from({ length: 60 }, (_, index) => `v${index}`);
      await Promise.all(names.map((name) => world.volume({ name, driver: DRIVER })));
      await Promise.all(
        names.map(async (name) => world.untilRunning(await world.pod(name, [claimVolume(name)]))),
      );
      await node.stop();
      await registrar.stop();
      await registrar.driver.stop(0);
      const published = driver.callsOf('NodePublishVolume').length;
      const lines = world.log.lines.length;
      await world.startNode();
      const since = () => world.log.lines.slice(lines);
      const waiting = () =>
        new Set(since().flatMap(({ message, fields }) => (/waits/.test(message) ? [fields.volume] : [])));
      while (waiting().size < 60) await setTimeout(5);
      await world.register('n1', driver);
      await driver.until(() => driver.callsOf('NodePublishVolume').length === published + 60);
      const told = since().filter(({ level }) => level === 'warn' || level === 'error');
      assert.deepEqual(told, []);
      const { items } = await world.admin.list(events, { namespace: 'default' });
      assert.deepEqual(
        items.filter(({ type }) => type === 'Warning').map(({ message }) => message),
        [],
      );
    }));

  for (const { what, volume, says, make } of [
    {
      what: 'a ConfigMap',
      volume: { configMap: { name: 'settings', items: [{ key: 'k', path: 'p' }] } },
      says: 'configmap "settings" not found',
      make: (world: NodeWorld) =>
        world.create(configMaps, { metadata: { ...here, name: 'settings' }, data: { k: 'v' } }),
    },
    {
      what: 'a Secret in a projection',
      volume: { projected: { sources: [{ secret: { name: 'password' } }] } },
      says: 'secret "password" not found',
      make: (world: NodeWorld) => world.create(secrets, { metadata: { ...here, name: 'password' } }),
    },
  ]) {
    test(`a pod that mounts ${what} which is missing waits with the kubelet's event, and runs once it is there`, (t) =>
      inWorld(t, {}, async (world) => {
        await ready(world);
        const pod = await world.pod('p', [{ name: 'v', ...volume }]);
        await world.untilEvent(
          'FailedMount',
          new RegExp(`^MountVolume\\.SetUp failed for volume "v" : ${says}$`),
        );
        const waiting = await world.admin.get(pods, { name: 'p', namespace: 'default' });
        assert.equal(waiting.status?.phase, 'Pending');
        assert.match(JSON.stringify(waiting.status), /volume v: .* not found/);
        await make(world);
        await world.untilRunning(pod);
      }));
  }

  test('a missing ConfigMap key or an unsupported volume type is reported on the pod; optional ones and emptyDir are not waited for', (t) =>
    inWorld(t, {}, async (world) => {
      await ready(world);
      await world.create(configMaps, { metadata: { ...here, name: 'settings' }, data: { k: 'v' } });
      const configMap = { name: 'settings', items: [{ key: 'other', path: 'p' }] };
      await world.pod('key', [{ name: 'v', configMap }]);
      await world.untilEvent('FailedMount', /"v" : configmap references non-existent config key: other$/);
      await world.pod('kind', [{ name: 'share', nfs: { server: 's', path: '/p' } }]);
      await world.untilEvent(
        'FailedMount',
        /"share" : this node mounts no nfs volumes, only those of CSI drivers$/,
      );
      const optional = { name: 'missing', optional: true };
      const fine = await world.pod('fine', [
        { name: 'maybe', configMap: optional },
        { name: 'scratch', emptyDir: {} },
      ]);
      await world.untilRunning(fine);
    }));

  test('[POD-2] [POD-3] [POD-4] pod information goes into NodePublishVolume when the registrar asks for it, and never into NodeStageVolume', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, { podInfo: true });
      const volumeAttributes = { mine: 'yes', 'csi.storage.k8s.io/pod.name': 'forged' };
      await world.volume({ name: 'data', driver: DRIVER, csi: { volumeAttributes } });
      const pod = await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      const context = { ...lastPublish(driver).volumeContext };
      for (const prefix of ['csi.storage.k8s.io/', 'csi.kubernetes.io/']) {
        assert.equal(context[`${prefix}pod.name`], 'p');
        assert.equal(context[`${prefix}pod.namespace`], 'default');
        assert.equal(context[`${prefix}pod.uid`], pod.metadata.uid);
        assert.equal(context[`${prefix}serviceAccount.name`], 'default');
      }
      assert.equal(context.mine, 'yes');
      const [stage] = driver.callsOf<NodeStageVolumeRequest>('NodeStageVolume');
      assert.deepEqual({ ...stage?.volumeContext }, { mine: 'yes' });
    }));

  test('[POD-2] [POD-3] CSIDriver.podInfoOnMount also enables it; without either there is none, whatever the volume attributes are', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, { spec: { podInfoOnMount: true } });
      const other = world.scripted({ name: 'other.test' });
      await world.driverObject('other.test', { attachRequired: false });
      await world.register('n1', other, { podInfo: false });
      const volumeAttributes = {
        'csi.kubernetes.io/pod.uid': 'forged',
        'csi.storage.k8s.io/ephemeral': 'true',
      };
      await world.volume({ name: 'on', driver: DRIVER, csi: { volumeAttributes } });
      await world.volume({ name: 'off', driver: 'other.test', csi: { volumeAttributes } });
      const pod = await world.untilRunning(await world.pod('p', [claimVolume('on'), claimVolume('off')]));
      assert.equal(lastPublish(driver).volumeContext['csi.kubernetes.io/pod.uid'], pod.metadata.uid);
      assert.deepEqual({ ...lastPublish(other).volumeContext }, {});
    }));

  test('[INL-1] an ephemeral inline volume: a handle of its own, publish and unpublish only, no attach', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, {
        spec: { attachRequired: true, volumeLifecycleModes: ['Ephemeral'] },
      });
      const volume = {
        name: 'scratch',
        csi: { driver: DRIVER, volumeHandle: 'mine', volumeAttributes: { size: '1' } },
      };
      const running = [
        await world.untilRunning(await world.pod('a', [volume])),
        await world.untilRunning(await world.pod('b', [volume])),
      ];
      const handles = driver
        .callsOf<NodePublishVolumeRequest>('NodePublishVolume')
        .map(({ volumeId }) => volumeId);
      assert.deepEqual(
        handles,
        running.map((pod) => ephemeralVolumeHandle(pod.metadata.uid, 'scratch')),
      );
      assert.deepEqual(
        { ...lastPublish(driver).volumeContext },
        { size: '1', 'csi.storage.k8s.io/ephemeral': 'true' },
      );
      assert.deepEqual((await world.admin.get(nodes, { name: 'n1' })).status?.volumesInUse ?? [], []);
      for (const pod of running) await world.deletePod(pod);
      for (const pod of running) await world.untilGone(pod);
      assert.deepEqual(
        driver
          .callsOf<NodeUnpublishVolumeRequest>('NodeUnpublishVolume')
          .map(({ volumeId }) => volumeId)
          .sort(),
        handles.sort(),
      );
      assert.deepEqual(driver.callsOf('NodeStageVolume'), []);
      assert.deepEqual(driver.callsOf('NodeUnstageVolume'), []);
    }));

  test('[INL-2] a persistent inline volume: its own handle, attached, staged, published, and back', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, { spec: { attachRequired: true } });
      const csi = { driver: DRIVER, volumeHandle: 'existing' };
      const pod = await world.pod('p', [{ name: 'data', csi }]);
      await world.untilInUse('n1', [`kubernetes.io/csi/${DRIVER}^existing`]);
      await world.attachInline(csi);
      await world.untilRunning(pod);
      assert.equal(lastPublish(driver).volumeId, 'existing');
      assert.equal(driver.callsOf<NodeStageVolumeRequest>('NodeStageVolume')[0]?.volumeId, 'existing');
      await world.deletePod(pod);
      await world.untilGone(pod);
      await world.untilInUse('n1', []);
      assert.deepEqual([driver.published.size, driver.staged.size], [0, 0]);
    }));

  test('[INL-3] a lifecycle mode that the driver does not declare is rejected at the node when admission did not know the driver', (t) =>
    inWorld(t, {}, async (world) => {
      const driver = world.scripted();
      await world.startNode();
      await world.register('n1', driver);
      const pod = await world.pod('p', [{ name: 'scratch', csi: { driver: DRIVER } }]);
      await world.untilEvent(
        'FailedMount',
        /volume scratch: without volumeHandle this asks driver .* ephemeral/,
      );
      assert.deepEqual(driver.callsOf('NodePublishVolume'), []);
      await world.driverObject(DRIVER, { attachRequired: false, volumeLifecycleModes: ['Ephemeral'] });
      await world.untilRunning(pod);
    }));

  test('[INL-5] [SEC-1] secrets reach exactly their calls; inline ones come from the pod’s namespace', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, { spec: { volumeLifecycleModes: ['Ephemeral', 'Persistent'] } });
      const secret = (name: string, namespace: string, word: string) =>
        world.create(secrets, {
          metadata: { name, namespace },
          data: { word: Buffer.from(word).toString('base64') },
        });
      await secret('stage', 'kube-system', 'stage-word');
      await secret('publish', 'kube-system', 'publish-word');
      await secret('local', 'default', 'local-word');
      await secret('local', 'kube-system', 'not-this-one');
      await world.volume({
        name: 'data',
        driver: DRIVER,
        csi: {
          nodeStageSecretRef: { name: 'stage', namespace: 'kube-system' },
          nodePublishSecretRef: { name: 'publish', namespace: 'kube-system' },
        },
      });
      const pod = await world.pod('p', [
        claimVolume('data'),
        { name: 'scratch', csi: { driver: DRIVER, nodePublishSecretRef: { name: 'local' } } },
      ]);
      await world.untilRunning(pod);
      const secretsOf = (method: string) =>
        driver
          .callsOf<NodePublishVolumeRequest>(method)
          .map((call) => [call.volumeId === 'handle-data', { ...call.secrets }]);
      assert.deepEqual(secretsOf('NodeStageVolume'), [[true, { word: 'stage-word' }]]);
      assert.deepEqual(
        secretsOf('NodePublishVolume').sort(([a], [b]) => Number(b) - Number(a)),
        [
          [true, { word: 'publish-word' }],
          [false, { word: 'local-word' }],
        ],
      );
      const said =
        JSON.stringify(world.log.lines) +
        JSON.stringify(await world.admin.get(pods, { name: 'p', namespace: 'default' }));
      for (const word of ['stage-word', 'publish-word', 'local-word']) assert.ok(!said.includes(word), word);
    }));

  test('[SEC-1] a secret that is deleted between stage and publish: an event that names it, and a retry once it is back', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      const make = () =>
        world.create(secrets, { metadata: { name: 's', namespace: 'default' }, stringData: { a: 'b' } });
      await make();
      driver.script('NodeStageVolume', {
        until: world.admin.delete(secrets, { name: 's', namespace: 'default' }),
      });
      await world.volume({
        name: 'data',
        driver: DRIVER,
        csi: { nodePublishSecretRef: { name: 's', namespace: 'default' } },
      });
      const pod = await world.pod('p', [claimVolume('data')]);
      await world.untilEvent('FailedMount', /secret default\/s does not exist/);
      assert.deepEqual(driver.callsOf('NodePublishVolume'), []);
      await make();
      await world.untilRunning(pod);
    }));

  test('[MNT-3] [NOD-3] read-only, mount options, file system, access modes and the driver’s own group reach the driver', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, {
        driver: { node: ['STAGE_UNSTAGE_VOLUME', 'SINGLE_NODE_MULTI_WRITER', 'VOLUME_MOUNT_GROUP'] },
      });
      await world.volume({
        name: 'data',
        driver: DRIVER,
        csi: { fsType: 'xfs' },
        spec: { mountOptions: ['noatime'], accessModes: ['ReadWriteOncePod'] },
      });
      const spec = { securityContext: { fsGroup: 4711 } };
      const pod = await world.untilRunning(
        await world.pod('p', [claimVolume('data', 'data', true)], { spec }),
      );
      const call = lastPublish(driver);
      assert.equal(call.readonly, true);
      assert.equal(call.volumeCapability?.accessMode?.mode, 6, 'SINGLE_NODE_SINGLE_WRITER');
      const [staged] = driver.callsOf<NodeStageVolumeRequest>('NodeStageVolume');
      for (const { volumeCapability } of [staged as NodeStageVolumeRequest, call]) {
        assert.deepEqual(
          volumeCapability?.accessType.case === 'mount' && {
            ...volumeCapability.accessType.value,
            $typeName: '',
          },
          { $typeName: '', fsType: 'xfs', mountFlags: ['noatime'], volumeMountGroup: '4711' },
        );
      }
      const rival = await world.pod('q', [claimVolume('data')]);
      await world.untilEvent('FailedMount', /ReadWriteOncePod and pod default\/p has it/);
      await world.deletePod(pod);
      await world.untilRunning(rival);
    }));

  test('[MNT-3] a raw block volume is published at its own path; volumeMounts for it is rejected with an error', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'disk', driver: DRIVER, spec: { volumeMode: 'Block' } });
      const containers = (use: object) => ({ containers: [{ name: 'main', image: 'none', ...use }] });
      const wrong = await world.pod('w', [claimVolume('disk')], {
        spec: containers({ volumeMounts: [{ name: 'disk', mountPath: '/x' }] }),
      });
      await world.untilEvent('FailedMount', /volume disk is a raw block device.*use volumeDevices/);
      await world.deletePod(wrong);
      await world.untilGone(wrong);
      const pod = await world.untilRunning(
        await world.pod('p', [claimVolume('disk')], {
          spec: containers({ volumeDevices: [{ name: 'disk', devicePath: '/dev/x' }] }),
        }),
      );
      const call = lastPublish(driver);
      assert.equal(call.volumeCapability?.accessType.case, 'block');
      const blockDir = join(world.root('n1'), 'plugins/kubernetes.io/csi/volumeDevices');
      assert.equal(call.targetPath, join(blockDir, 'publish/pv-disk', pod.metadata.uid));
      assert.equal(call.stagingTargetPath, join(blockDir, 'staging/pv-disk'));
      await world.deletePod(pod);
      await world.untilGone(pod);
      await world.untilInUse('n1', []);
      assert.equal(world.memory.mounts.length, 0);
    }));

  test('a pod with two volumes of one claim publishes it once, under both names', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      const pod = await world.untilRunning(
        await world.pod('p', [claimVolume('a', 'data', true), claimVolume('b', 'data')]),
      );
      assert.equal(driver.callsOf('NodePublishVolume').length, 1);
      const { targetPath, readonly } = lastPublish(driver);
      assert.equal(readonly, false, 'one of them writes');
      assert.deepEqual(JSON.parse(pod.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] ?? ''), {
        a: targetPath,
        b: targetPath,
      });
    }));

  test('a late or lost response leaves the volume uncertain: the call is repeated, and the volume torn down although its pod never ran', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      driver.always('NodePublishVolume', { failAfter: 'DEADLINE_EXCEEDED' });
      const pod = await world.pod('p', [claimVolume('data')]);
      await driver.until(() => driver.callsOf('NodePublishVolume').length === 2);
      await world.deletePod(pod);
      await world.untilGone(pod);
      await driver.until(() => driver.staged.size === 0);
      assert.deepEqual([driver.published.size, driver.staged.size, world.memory.mounts.length], [0, 0, 0]);
    }));

  test('a stage whose outcome is unknown is undone when its pod goes', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      driver.always('NodeStageVolume', { failAfter: 'DEADLINE_EXCEEDED' });
      const pod = await world.pod('p', [claimVolume('data')]);
      await driver.until(() => driver.callsOf('NodeStageVolume').length === 2);
      await world.deletePod(pod);
      await world.untilGone(pod);
      await driver.until(() => driver.staged.size === 0);
      await world.untilInUse('n1', []);
      assert.deepEqual(driver.callsOf('NodePublishVolume'), []);
    }));

  test('a final refusal to publish leaves nothing of the pod; what is staged is unstaged', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      driver.always('NodePublishVolume', { fail: 'INVALID_ARGUMENT', message: 'not with me' });
      const pod = await world.pod('p', [claimVolume('data')]);
      await world.untilEvent('FailedMount', /MountVolume\.SetUp failed for volume "pv-data".*not with me/);
      await world.deletePod(pod);
      await world.untilGone(pod);
      await world.untilInUse('n1', []);
      assert.deepEqual(driver.callsOf('NodeUnpublishVolume'), []);
      assert.equal(driver.callsOf('NodeUnstageVolume').length, 1);
    }));

  test('a driver that says it published and mounted nothing is told to unpublish when the pod goes', (t) =>
    inWorld(t, {}, async (world) => {
      const driver = world.scripted();
      await world.startNode();
      await world.driverObject(DRIVER, { attachRequired: false });
      await world.register('n1', {
        ...driver,
        name: driver.name,
        services: driver.services,
        interceptors: [driver.interceptor],
      });
      await world.volume({ name: 'data', driver: DRIVER });
      const pod = await world.pod('p', [claimVolume('data')]);
      await driver.until(() => driver.callsOf('NodePublishVolume').length === 2);
      await world.deletePod(pod);
      await world.untilGone(pod);
      await driver.until(() => driver.published.size === 0);
      assert.notEqual(driver.callsOf('NodeUnpublishVolume').length, 0);
    }));

  test('a final error leaves nothing behind: no record, no directory, no unpublish', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      driver.always('NodeStageVolume', { fail: 'INVALID_ARGUMENT', message: 'not with me' });
      const pod = await world.pod('p', [claimVolume('data')]);
      await world.untilEvent(
        'FailedMount',
        /MountVolume\.MountDevice failed for volume "pv-data".*not with me/,
      );
      await world.deletePod(pod);
      await world.untilGone(pod);
      assert.deepEqual(driver.callsOf('NodeUnstageVolume'), []);
      assert.deepEqual(await readdir(join(world.root('n1'), 'plugins/kubernetes.io/csi', DRIVER)), []);
    }));

  test('a pod that goes while the node still resolves the pods it started with leaves no directory', (t) =>
    inWorld(t, {}, async (world) => {
      const driver = world.scripted();
      await world.driverObject(DRIVER, { attachRequired: false });
      for (const name of ['data', 'late']) await world.volume({ name, driver: DRIVER });
      await world.admin.create(nodes, { metadata: { name: 'n1' } });
      const pod = await world.pod('p', [claimVolume('data')]);
      const other = await world.pod('q', [claimVolume('late')]);
      const resolved = Promise.withResolvers<void>();
      await world.startNode('n1', {
        through: (kube) =>
          Object.assign(Object.create(kube) as KubeClient, {
            async get(resource: Resource, name: { name: string }, options: object) {
              if (resource.plural === 'persistentvolumes' && name.name === 'pv-late') await resolved.promise;
              return kube.get(resource, name, options);
            },
          }),
      });
      const deleted = Promise.withResolvers<void>();
      driver.script('NodePublishVolume', {
        until: deleted.promise,
        fail: 'INVALID_ARGUMENT',
        message: 'not with me',
      });
      await world.register('n1', driver);
      await driver.until(() => driver.callsOf('NodePublishVolume').length === 1);
      await world.deletePod(pod, 0);
      await world.untilGone(pod);
      deleted.resolve();
      await world.untilEvent('FailedMount', /not with me/);
      resolved.resolve();
      await world.untilRunning(other);
      await driver.until(() => driver.callsOf('NodeUnstageVolume').length === 1);
      // Nobody is told when a directory has gone; the test's time limit ends this.
      const directories = join(world.root('n1'), 'pods');
      while ((await readdir(directories)).includes(pod.metadata.uid)) await setTimeout(5);
      assert.deepEqual(await readdir(directories), [other.metadata.uid]);
    }));

  for (const [what, put] of [
    ['a symbolic link out of the pod’s directory', (path: string) => symlink('/etc', path)],
    ['a file', (path: string) => writeFile(path, 'precious')],
  ] as const) {
    test(`a target path that is ${what} is refused, and nothing is deleted`, (t) =>
      inWorld(t, {}, async (world) => {
        const { driver } = await ready(world, { driver: { node: [] } });
        await world.volume({ name: 'data', driver: DRIVER });
        const hold = Promise.withResolvers<void>();
        driver.script('NodePublishVolume', { until: hold.promise, fail: 'UNAVAILABLE' });
        const pod = await world.pod('p', [claimVolume('data')]);
        await driver.until(() => driver.callsOf('NodePublishVolume').length === 1);
        const path = lastPublish(driver).targetPath;
        await put(path);
        hold.resolve();
        await world.untilEvent('FailedMount', /the target path .* is left alone/);
        assert.equal(driver.callsOf('NodePublishVolume').length, 1);
        await world.deletePod(pod);
        await world.untilEvent('FailedUnMount', /is left alone/);
        assert.ok((await readdir(dirname(path))).includes('mount'), 'it is still there');
      }));
  }

  test('a pod directory that somebody else filled keeps its content, and the event says where', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      const pod = await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      const foreign = join(dirname(lastPublish(driver).targetPath), 'precious');
      await writeFile(foreign, 'data');
      await world.deletePod(pod);
      await world.untilEvent('FailedUnMount', /is not empty though nothing is mounted there/);
      assert.equal(await readFile(foreign, 'utf8'), 'data');
      assert.equal(driver.published.size, 0, 'it is unpublished all the same');
    }));

  test('a stale mount is unpublished and published again when its driver registers again', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver, registrar } = await ready(world);
      await world.volume({ name: 'data', driver: DRIVER });
      const pod = await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      const { targetPath, stagingTargetPath } = lastPublish(driver);
      world.memory.corrupt(targetPath);
      await registrar.stop();
      await world.until(csiNodes, 'n1', (now) => (now?.spec?.drivers ?? []).length === 0);
      const again = await world.announce('n1', { name: DRIVER, endpoint: registrar.driver.address });
      await driver.until(
        () => driver.callsOf('NodePublishVolume').length === 2 && driver.published.size === 1,
      );
      assert.deepEqual(methodsOf(driver, 3), [
        'NodePublishVolume',
        'NodeUnpublishVolume',
        'NodePublishVolume',
      ]);
      // Now the staged one: everything published from it is set up again.
      await world.mounter.bind('/source', stagingTargetPath);
      world.memory.corrupt(stagingTargetPath);
      await again.stop();
      await world.until(csiNodes, 'n1', (now) => (now?.spec?.drivers ?? []).length === 0);
      await world.announce('n1', { name: DRIVER, endpoint: registrar.driver.address });
      await driver.until(
        () => driver.callsOf('NodePublishVolume').length === 3 && driver.published.size === 1,
      );
      assert.deepEqual(methodsOf(driver, 4), [
        'NodeUnpublishVolume',
        'NodeUnstageVolume',
        'NodeStageVolume',
        'NodePublishVolume',
      ]);
      assert.equal(
        (await world.admin.get(pods, { name: 'p', namespace: 'default' })).status?.phase,
        'Running',
      );
      assert.ok(await world.exists(pods, keyOf(pod)));
    }));

  const methodsOf = (driver: { calls: readonly { method: string }[] }, count: number) =>
    driver.calls
      .map(({ method }) => method)
      .filter((method) => /(un)?(stage|publish)Volume/i.test(method))
      .slice(-count);

  test('requiresRepublish repeats NodePublishVolume; a failure affects no other volume, and tokens are never logged', (t) =>
    inWorld(t, { clock: fastClock(50) }, async (world) => {
      const { driver } = await ready(world, { spec: { requiresRepublish: true } });
      await world.volume({ name: 'data', driver: DRIVER });
      driver.script('NodePublishVolume', {}, { fail: 'INTERNAL' });
      const pod = await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      await driver.until(() => driver.callsOf('NodePublishVolume').length >= 3);
      assert.equal(
        (await world.admin.get(pods, { name: 'p', namespace: 'default' })).status?.phase,
        'Running',
      );
      assert.deepEqual(driver.callsOf('NodeUnpublishVolume'), []);
      await world.deletePod(pod);
      await world.untilGone(pod);
    }));

  /** Timers that fire many times sooner. */
  function fastClock(times: number): Clock {
    return {
      ...realClock,
      monotonicMs: () => realClock.monotonicMs() * times,
      setTimeout: (callback, delayMs) => realClock.setTimeout(callback, delayMs / times),
    };
  }

  test('tokens of the pod’s service account are passed where the driver asks, and never logged', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, {
        spec: { tokenRequests: [{ audience: 'vault', expirationSeconds: 3600 }] },
      });
      await world.volume({ name: 'data', driver: DRIVER });
      await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      const tokens = JSON.parse(
        lastPublish(driver).volumeContext['csi.storage.k8s.io/serviceAccount.tokens'] ?? '{}',
      );
      assert.deepEqual(Object.keys(tokens), ['vault']);
      assert.ok(tokens.vault.token.length > 20);
      assert.ok(!JSON.stringify(world.log.lines).includes(tokens.vault.token), 'and never logged');
    }));

  test('[SEC-1] a pending filesystem expansion runs on the node with its own secret, and the claim’s status shows it', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, { driver: { node: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] } });
      await world.create(secrets, {
        metadata: { name: 'grow', namespace: 'default' },
        stringData: { word: 'expand' },
      });
      const { pv } = await world.volume({
        name: 'data',
        driver: DRIVER,
        csi: { nodeExpandSecretRef: { name: 'grow', namespace: 'default' } },
      });
      await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      assert.deepEqual({ ...lastPublish(driver).secrets }, {});
      await grow(world, pv.metadata.name);
      const claim = await world.until(
        persistentVolumeClaims,
        'default/data',
        (now) => now?.status?.capacity?.storage === '2Gi',
      );
      assert.deepEqual(claim?.status?.conditions ?? [], []);
      const [call] = driver.callsOf<NodeExpandVolumeRequest>('NodeExpandVolume');
      assert.equal(call?.capacityRange?.requiredBytes, 2n << 30n);
      assert.deepEqual({ ...call?.secrets }, { word: 'expand' });
      assert.equal(call?.volumePath, lastPublish(driver).targetPath);
    }));

  test('[SIDE-1] an expansion that fails on the node is recorded on the claim, and left to the resizer until it resets the state', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, { driver: { node: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] } });
      driver.script('NodeExpandVolume', { fail: 'OUT_OF_RANGE', message: 'no room here' });
      const { pv } = await world.volume({ name: 'data', driver: DRIVER });
      await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      const pending = {
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
      };
      await grow(world, pv.metadata.name, pending);
      const state = (wanted?: string) => (claim?: PersistentVolumeClaim) =>
        claim?.status?.allocatedResourceStatuses?.storage === wanted;
      const refused = await world.until(
        persistentVolumeClaims,
        'default/data',
        state('NodeResizeInfeasible'),
      );
      const error = refused?.status?.conditions?.find(({ type }) => type === 'NodeResizeError');
      assert.match(error?.message ?? '', /no room here/);
      assert.equal(driver.callsOf('NodeExpandVolume').length, 1);
      await grow(world, pv.metadata.name, pending);
      const grown = await world.until(persistentVolumeClaims, 'default/data', state(undefined));
      assert.equal(grown?.status?.capacity?.storage, '2Gi');
      assert.deepEqual(grown?.status?.conditions ?? [], []);
      await world.untilEvent('FileSystemResizeSuccessful', /has 2Gi on node n1/);
    }));

  test('[SIDE-1] a claim that its resizer takes back while the node expands the volume is told of the size once it waits for the node again', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world, { driver: { node: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] } });
      const answer = Promise.withResolvers<void>();
      driver.script('NodeExpandVolume', { until: answer.promise });
      const { pv } = await world.volume({ name: 'data', driver: DRIVER });
      await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      const inState = (storage: string) => ({
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage },
      });
      await grow(world, pv.metadata.name, inState('NodeResizePending'));
      await driver.until(() => driver.callsOf('NodeExpandVolume').length === 1);
      // As a resizer does whose cache shows the volume as it was.
      await grow(world, pv.metadata.name, inState('ControllerResizeInProgress'));
      answer.resolve();
      await world.untilEvent('FileSystemResizeSuccessful', /has 2Gi on node n1/);
      await grow(world, pv.metadata.name, inState('NodeResizePending'));
      await world.until(
        persistentVolumeClaims,
        'default/data',
        (now) => now?.status?.capacity?.storage === '2Gi',
      );
      assert.equal(driver.callsOf('NodeExpandVolume').length, 2);
    }));

  test('[SIDE-1] a volume on several nodes is expanded on each of them, in any order', (t) =>
    inWorld(t, {}, async (world) => {
      const options = { node: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] } as const;
      const drivers = [];
      for (const name of ['n1', 'n2']) {
        const driver = world.scripted({ ...options, node: [...options.node], nodeId: name });
        await world.startNode(name);
        drivers.push(driver);
      }
      await world.driverObject(DRIVER, { attachRequired: false });
      for (const [index, driver] of drivers.entries()) await world.register(`n${index + 1}`, driver);
      const { pv } = await world.volume({
        name: 'data',
        driver: DRIVER,
        spec: { accessModes: ['ReadWriteMany'] },
      });
      for (const name of ['n1', 'n2'])
        await world.untilRunning(await world.pod(`on-${name}`, [claimVolume('data')], { node: name }));
      // As another node leaves it when it has finished.
      await grow(world, pv.metadata.name, { capacity: { storage: '2Gi' }, conditions: [] });
      for (const driver of drivers) await driver.until(() => driver.callsOf('NodeExpandVolume').length > 0);
    }));

  const expanding: Parameters<NodeWorld['scripted']>[0] = { node: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] };
  const shared = { name: 'data', driver: DRIVER, spec: { accessModes: ['ReadWriteMany'] } };
  /** A claim's status as another node leaves it when it has expanded the volume. */
  const EXPANDED_ELSEWHERE = {
    capacity: { storage: '2Gi' },
    conditions: [],
    allocatedResources: null,
    allocatedResourceStatuses: null,
  };
  /** `seen` resolves once a list or watch has brought such a claim to the node, and the node has taken it in. */
  function seesClaim(wanted: (claim: PersistentVolumeClaim) => boolean) {
    const seen = Promise.withResolvers<void>();
    const isWanted = (object: unknown) => wanted(object as PersistentVolumeClaim);
    async function list(kube: KubeClient, ...call: Parameters<KubeClient['list']>) {
      const found = await kube.list(...call);
      // Not before whoever asked has gone on.
      if (found.items.some(isWanted)) setImmediate(() => seen.resolve());
      return found;
    }
    async function* watch(kube: KubeClient, ...call: Parameters<KubeClient['watch']>) {
      for await (const event of kube.watch(...call)) {
        yield event;
        // The next event is asked for.
        if (event.type !== 'BOOKMARK' && isWanted(event.object)) seen.resolve();
      }
    }
    const isClaims = ({ plural }: { plural: string }) => plural === 'persistentvolumeclaims';
    const through = (kube: KubeClient) =>
      Object.assign(Object.create(kube) as KubeClient, {
        list: (...call: Parameters<KubeClient['list']>) =>
          isClaims(call[0]) ? list(kube, ...call) : kube.list(...call),
        watch: (...call: Parameters<KubeClient['watch']>) =>
          isClaims(call[0]) ? watch(kube, ...call) : kube.watch(...call),
      });
    return { through, seen: seen.promise };
  }
  const isGrown = (claim: PersistentVolumeClaim) => claim.status?.capacity?.storage === '2Gi';
  const expansions = (driver: { callsOf<T>(method: string): T[] }) =>
    driver
      .callsOf<NodeExpandVolumeRequest>('NodeExpandVolume')
      .map(({ capacityRange }) => capacityRange?.requiredBytes);

  for (const [what, capabilities] of [
    ['staged', ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME']],
    ['mounted without staging', ['EXPAND_VOLUME']],
  ] as const) {
    test(`[SIDE-1] a shared volume that was ${what} here and expanded on another node while this one was down is expanded here too, once`, (t) =>
      inWorld(t, {}, async (world) => {
        const { driver, node } = await ready(world, { driver: { node: [...capabilities] } });
        const { pv } = await world.volume(shared);
        const pod = await world.untilRunning(await world.pod('p', [claimVolume('data')]));
        await node.stop();
        await grow(world, pv.metadata.name, EXPANDED_ELSEWHERE);
        await world.startNode();
        await driver.until(() => expansions(driver).length > 0);
        await world.deletePod(pod);
        await world.untilGone(pod);
        assert.deepEqual(expansions(driver), [2n << 30n]);
      }));
  }

  test('[SIDE-1] a shared volume that pods here only read is not expanded because another node has expanded it', (t) =>
    inWorld(t, { clock: fastClock(50) }, async (world) => {
      const { through, seen } = seesClaim(isGrown);
      const { driver } = await ready(world, { driver: expanding, through });
      const { pv } = await world.volume(shared);
      const reader = await world.untilRunning(await world.pod('reader', [claimVolume('data', 'data', true)]));
      await grow(world, pv.metadata.name, EXPANDED_ELSEWHERE);
      await seen;
      await world.untilRunning(await world.pod('another', [claimVolume('data', 'data', true)]));
      assert.deepEqual(expansions(driver), []);
      await world.untilRunning(await world.pod('writer', [claimVolume('data')]));
      await driver.until(() => expansions(driver).length > 0);
      await world.deletePod(reader);
      await world.untilGone(reader);
      assert.deepEqual(expansions(driver), [2n << 30n]);
    }));

  test('[SIDE-1] a shared volume that another node expands between stage and publish is expanded here too, once', (t) =>
    inWorld(t, { clock: fastClock(50) }, async (world) => {
      const { through, seen } = seesClaim(isGrown);
      const { driver } = await ready(world, { driver: expanding, through });
      const release = Promise.withResolvers<void>();
      driver.script('NodePublishVolume', { until: release.promise });
      const { pv } = await world.volume(shared);
      const pod = await world.pod('p', [claimVolume('data')]);
      await driver.until(() => driver.callsOf('NodePublishVolume').length === 1);
      await grow(world, pv.metadata.name, EXPANDED_ELSEWHERE);
      await seen;
      release.resolve();
      await world.untilRunning(pod);
      await driver.until(() => expansions(driver).length > 0);
      await world.deletePod(pod);
      await world.untilGone(pod);
      assert.deepEqual(expansions(driver), [2n << 30n]);
    }));

  test('[SIDE-1] a shared volume that could not be expanded here is, although another node has told the claim meanwhile', (t) =>
    inWorld(t, { clock: fastClock(50) }, async (world) => {
      const { through, seen } = seesClaim(isGrown);
      const { driver } = await ready(world, { driver: expanding, through });
      const release = Promise.withResolvers<void>();
      driver.script('NodeExpandVolume', { until: release.promise, fail: 'INTERNAL' });
      const { pv } = await world.volume(shared);
      await grow(world, pv.metadata.name, {
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
      });
      const pod = await world.pod('p', [claimVolume('data')]);
      await driver.until(() => expansions(driver).length === 1);
      await grow(world, pv.metadata.name, EXPANDED_ELSEWHERE);
      await seen;
      release.resolve();
      await driver.until(() => expansions(driver).length > 1);
      await world.deletePod(pod);
      await world.untilGone(pod);
      assert.deepEqual(expansions(driver), [2n << 30n, 2n << 30n]);
    }));

  for (const [what, driverOptions, calls] of [
    ['that its driver can expand', expanding, [1n << 29n]],
    ['that its driver cannot expand', {}, []],
  ] as const) {
    test(`[SIDE-1] after a restart the node makes sure of the size of a shared volume ${what}, once and without an event, and of no other`, (t) =>
      inWorld(t, {}, async (world) => {
        const { driver, node } = await ready(world, { driver: driverOptions });
        const { pv } = await world.volume(shared);
        await world.volume({ name: 'own', driver: DRIVER });
        // It says less than its claim.
        const capacity = { storage: '512Mi' };
        await world.admin.patch(
          persistentVolumes,
          { name: pv.metadata.name },
          { spec: { capacity } },
          { type: 'merge' },
        );
        const pod = await world.untilRunning(await world.pod('p', [claimVolume('data'), claimVolume('own')]));
        await node.stop();
        const expanded = () =>
          world.log.lines.filter(
            ({ message, fields }) => message === 'volume operation done' && fields.operation === 'expand',
          ).length;
        assert.equal(expanded(), 0);
        await world.startNode();
        for (let look = 0; look < 2_000 && expanded() === 0; look++) await setTimeout(5);
        await world.deletePod(pod);
        await world.untilGone(pod);
        assert.equal(expanded(), 1);
        assert.deepEqual(expansions(driver), calls);
        const { items } = await world.admin.list(events, here);
        assert.deepEqual(
          items.filter(({ reason }) => reason === 'FileSystemResizeSuccessful'),
          [],
        );
      }));
  }

  test('where claims can be read but not watched, as with kube-apiserver, an expansion is still noticed', (t) =>
    inWorld(t, { clock: fastClock(50) }, async (world) => {
      const driver = world.scripted({ node: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] });
      const isClaims = (resource: { plural: string }) => resource.plural === 'persistentvolumeclaims';
      await world.startNode('n1', {
        through: (kube) =>
          Object.assign(Object.create(kube) as KubeClient, {
            list: (resource: Resource, options: object) =>
              isClaims(resource)
                ? Promise.reject(new KubeError({ reason: 'Forbidden', code: 403, message: 'can only get' }))
                : kube.list(resource, options),
          }),
      });
      await world.driverObject(DRIVER, { attachRequired: false });
      await world.register('n1', driver);
      const { pv } = await world.volume({ name: 'data', driver: DRIVER });
      await world.untilRunning(await world.pod('p', [claimVolume('data')]));
      await grow(world, pv.metadata.name);
      await world.until(
        persistentVolumeClaims,
        'default/data',
        (now) => now?.status?.capacity?.storage === '2Gi',
      );
      assert.equal(driver.callsOf('NodeExpandVolume').length, 1);
    }));

  test('[MNT-1] a driver that comes back with the capability to stage stages before the next publish', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver, registrar } = await ready(world, { driver: { node: [] } });
      await world.volume({ name: 'data', driver: DRIVER, spec: { accessModes: ['ReadWriteMany'] } });
      const first = await world.untilRunning(await world.pod('a', [claimVolume('data')]));
      assert.deepEqual(driver.callsOf('NodeStageVolume'), []);
      await registrar.stop();
      await registrar.driver.stop(0);
      await world.until(csiNodes, 'n1', (now) => (now?.spec?.drivers ?? []).length === 0);
      const upgraded = world.scripted();
      await world.register('n1', upgraded);
      const second = await world.untilRunning(await world.pod('b', [claimVolume('data')]));
      const [staged, ...more] = upgraded.callsOf<NodeStageVolumeRequest>('NodeStageVolume');
      assert.equal(more.length, 0);
      assert.equal(lastPublish(upgraded).stagingTargetPath, staged?.stagingTargetPath);
      await Promise.all([first, second].map((pod) => world.deletePod(pod)));
      await Promise.all([first, second].map((pod) => world.untilGone(pod)));
      await upgraded.until(() => upgraded.callsOf('NodeUnstageVolume').length === 1);
    }));

  test('[MNT-3] a block volume through a second PersistentVolume waits for the pod that has it through the first, and is staged anew', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      const device = { handle: 'one', driver: DRIVER, spec: { volumeMode: 'Block' } } as const;
      for (const name of ['first', 'second']) await world.volume({ ...device, name });
      const spec = (claim: string) => ({
        containers: [{ name: 'c', image: 'i', volumeDevices: [{ name: claim, devicePath: '/dev/x' }] }],
      });
      const first = await world.untilRunning(
        await world.pod('a', [claimVolume('first')], { spec: spec('first') }),
      );
      const second = await world.pod('b', [claimVolume('second')], { spec: spec('second') });
      await world.untilEvent(
        'FailedMount',
        /default\/a through another PersistentVolume with the same volumeHandle/,
      );
      await world.deletePod(first);
      await world.untilRunning(second);
      await world.deletePod(second);
      await world.untilGone(second);
      await driver.until(() => driver.callsOf('NodeUnstageVolume').length === 2);
      const staged = (method: string) =>
        driver.callsOf<NodeStageVolumeRequest>(method).map((call) => basename(call.stagingTargetPath));
      assert.deepEqual(staged('NodeStageVolume'), ['pv-first', 'pv-second']);
      assert.deepEqual(staged('NodeUnstageVolume'), ['pv-first', 'pv-second']);
    }));

  test('a driver that does not answer delays no other driver', (t) =>
    inWorld(t, {}, async (world) => {
      const { driver } = await ready(world);
      const other = world.scripted({ name: 'other.test' });
      await world.driverObject('other.test', { attachRequired: false });
      await world.register('n1', other);
      const release = Promise.withResolvers<void>();
      driver.script('NodeStageVolume', { until: release.promise });
      await world.volume({ name: 'hangs', driver: DRIVER });
      await world.volume({ name: 'works', driver: 'other.test' });
      const stuck = await world.pod('stuck', [claimVolume('hangs')]);
      await driver.until(() => driver.callsOf('NodeStageVolume').length === 1);
      const fine = await world.untilRunning(await world.pod('fine', [claimVolume('works')]));
      assert.equal(fine.status?.phase, 'Running');
      release.resolve();
      await world.untilRunning(stuck);
    }));

  /** A claim's status after the resizer, waiting for node expansion. */
  async function grow(world: NodeWorld, pvName: string, status: object = {}): Promise<void> {
    await world.admin.patch(
      persistentVolumes,
      { name: pvName },
      { spec: { capacity: { storage: '2Gi' } } },
      { type: 'merge' },
    );
    await world.admin.patch(
      persistentVolumeClaims,
      { name: 'data', namespace: 'default' },
      { status: { conditions: [{ type: 'FileSystemResizePending', status: 'True' }], ...status } },
      { subresource: 'status', type: 'merge' },
    );
  }

  test('a generic ephemeral volume is mounted only if its claim was made for this pod', (t) =>
    inWorld(t, {}, async (world) => {
      await ready(world);
      await world.volume({ name: 'p-scratch', driver: DRIVER });
      const template = {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      };
      const pod = await world.pod('p', [{ name: 'scratch', ephemeral: { volumeClaimTemplate: template } }]);
      await world.untilEvent('FailedMount', /claim default\/p-scratch was not made for this pod/);
      const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata.uid, controller: true };
      await world.admin.patch(
        persistentVolumeClaims,
        { name: 'p-scratch', namespace: 'default' },
        { metadata: { ownerReferences: [owner] } },
        { type: 'merge' },
      );
      await world.untilRunning(pod);
    }));
});
