// A populator in a whole cluster under virtual time: real binder, provisioner, scheduler, nodes. No containers run, so the
// test ends the populator's pods.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import {
  customResourceDefinitions,
  events,
  namespaces,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  referenceGrants,
  storageClasses,
} from '../../src/api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../src/api/object.ts';
import { defineDriver } from '../../src/driver/driver.ts';
import { createPopulator } from '../../src/populator/create-populator.ts';
import type { PopulatorDefinition } from '../../src/populator/index.ts';
import { createEventRecorder } from '../../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { awaitObject } from '../../src/runtime/kube/await-object.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { memoryLog } from '../../src/runtime/log/log.ts';
import { createMetrics } from '../../src/runtime/metrics/metrics.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import { startVirtualCluster, type VirtualCluster } from '../../src/test-cluster/start-virtual-cluster.ts';
import type { VirtualMachine } from '../../src/test-cluster/virtual-node.ts';

type Hello = KubeObject & { spec: { fileContents: string } };
const hellos: Resource<Hello> = {
  group: 'hello.example.com',
  version: 'v1alpha1',
  kind: 'Hello',
  plural: 'hellos',
  namespaced: true,
};
const FINALIZER = 'hello.example.com/populate-target-protection';
const byPod: PopulatorDefinition<Hello> = {
  prefix: 'hello.example.com',
  namespace: 'hello',
  source: hellos,
  populate: {
    image: 'busybox',
    args: ({ spec }, { isBlock }) => [spec.fileContents, isBlock ? 'block' : 'file'],
    mountPath: '/mnt',
    devicePath: '/dev/target',
  },
};
const dataSourceRef = { apiGroup: hellos.group, kind: hellos.kind, name: 'greeting' };

/** Volumes are names in a set. */
function driverOf(volumes: Set<string>) {
  return ({ nodeName, mounter }: VirtualMachine) =>
    defineDriver({
      name: 'virtual.csi.test',
      version: '1',
      controller: {
        createVolume({ name, capacityRange }) {
          volumes.add(name);
          return { volume: { volumeId: name, capacityBytes: capacityRange?.requiredBytes ?? 0n } };
        },
        deleteVolume({ volumeId }) {
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

const isPopulated = (claim: PersistentVolumeClaim | undefined): boolean =>
  claim?.status?.phase === 'Bound' && !claim.metadata.finalizers?.includes(FINALIZER);

interface World {
  cluster: VirtualCluster;
  volumes: Set<string>;
  metrics: ReturnType<typeof createMetrics>;
  /** Runs a populator; `through` may break its client. Resolves with how to stop it. */
  run(
    definition?: PopulatorDefinition<Hello>,
    through?: (kube: KubeClient) => KubeClient,
  ): () => Promise<void>;
  claim(name: string, spec?: object): Promise<PersistentVolumeClaim>;
  bound(name: string): Promise<PersistentVolumeClaim>;
  /** The populator's pod, once it runs. */
  podOf(claim: PersistentVolumeClaim): Promise<Pod>;
  end(pod: Pod, phase: 'Succeeded' | 'Failed', message?: string): Promise<void>;
  until<T extends KubeObject>(
    resource: Resource<T>,
    at: { name: string; namespace?: string },
    holds: (object: T | undefined) => boolean,
  ): Promise<T | undefined>;
  told(reason: string): Promise<string[]>;
}

async function start(t: TestContext): Promise<World> {
  const volumes = new Set<string>();
  const cluster = await startVirtualCluster({ driver: driverOf(volumes), nodes: 2 });
  const { kube, clock } = cluster;
  const running: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const stop of running) await stop();
    await cluster.stop();
    assert.deepEqual([...volumes], [], 'every volume was deleted');
  });
  const text = await readFile(new URL('../../examples/hello-populator/deploy.yaml', import.meta.url), 'utf8');
  const [, definition] = parseAllDocuments(text).map((document) => document.toJS());
  await cluster.settle(kube.create(customResourceDefinitions, definition));
  await cluster.settle(kube.create(namespaces, { metadata: { name: 'hello' } }));
  const isServed = () =>
    kube.create(hellos, {
      metadata: { name: 'greeting', namespace: 'default' },
      spec: { fileName: 'f', fileContents: 'Hello' },
    } as Draft<Hello>);
  await cluster.settle(
    awaitObject({
      kube,
      clock,
      resource: customResourceDefinitions,
      at: { name: 'hellos.hello.example.com' },
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      until: (object) =>
        object?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ??
        false,
    }),
  );
  await cluster.settle(isServed());
  const metrics = createMetrics({ clock });
  const world: World = {
    cluster,
    volumes,
    metrics,
    run(chosen = byPod, through = (plain) => plain) {
      const stop = new AbortController();
      const common = { kube: through(kube), clock, random: seededRandom('populator'), log: memoryLog() };
      const informers = createInformers(common);
      const recorder = createEventRecorder({
        ...common,
        kube,
        component: 'hello.example.com-populator',
        signal: stop.signal,
      });
      const populator = createPopulator({ ...common, informers, recorder, metrics }, chosen);
      informers.start(stop.signal);
      const ended = populator.run(stop.signal).catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
      const end = async () => {
        stop.abort(new Error('the test stops the populator'));
        await cluster.settle(ended);
      };
      running.push(end);
      return end;
    },
    claim: (name, spec = {}) =>
      cluster.settle(
        kube.create(persistentVolumeClaims, {
          metadata: { name, namespace: 'default' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            resources: { requests: { storage: '1Mi' } },
            dataSourceRef,
            ...spec,
          },
        }),
      ),
    bound: async (name) =>
      (await cluster.until(persistentVolumeClaims, name, isPopulated)) as PersistentVolumeClaim,
    podOf: async ({ metadata }) =>
      (await world.until(
        pods,
        { name: `populate-${metadata.uid}`, namespace: 'hello' },
        (now) => now?.status?.phase === 'Running' && now.metadata.deletionTimestamp === undefined,
      )) as Pod,
    async end({ metadata: { name, namespace = '' } }, phase, message = '') {
      const patch = { status: { phase, message } };
      await cluster.settle(
        kube.patch(pods, { name, namespace }, patch, { type: 'merge', subresource: 'status' }),
      );
    },
    until: (resource, at, until) =>
      cluster.settle(
        awaitObject({
          kube,
          clock,
          resource,
          at,
          timeoutMs: 600_000,
          signal: new AbortController().signal,
          until,
        }),
      ),
    async told(reason) {
      await cluster.advance(5_000);
      const { items } = await cluster.settle(kube.list(events, {}));
      return items.filter((event) => event.reason === reason).map(({ message }) => message ?? '');
    },
  };
  return world;
}

test('a claim gets the volume of its prime claim once the pod has filled it, and nothing else is left', async (t) => {
  const world = await start(t);
  const { cluster } = world;
  world.run();
  const claim = await world.claim('data');
  const pod = await world.podOf(claim);
  assert.deepEqual(pod.spec.containers[0]?.args, ['Hello', 'file']);
  assert.equal(pod.spec.volumes?.[0]?.persistentVolumeClaim?.claimName, `prime-${claim.metadata.uid}`);
  const waiting = await cluster.settle(
    cluster.kube.get(persistentVolumeClaims, { name: 'data', namespace: 'default' }),
  );
  assert.equal(waiting.status?.phase, 'Pending', 'nobody can use it before it is filled');
  assert.ok(waiting.metadata.finalizers?.includes(FINALIZER));
  await world.end(pod, 'Succeeded');
  const bound = await world.bound('data');
  const volume = await cluster.settle(
    cluster.kube.get(persistentVolumes, { name: bound.spec.volumeName ?? '' }),
  );
  assert.equal(volume.metadata.annotations?.['hello.example.com/populated-from'], 'default/greeting');
  assert.equal(volume.spec.claimRef?.uid, claim.metadata.uid);
  assert.equal(world.volumes.size, 1, 'the volume that was filled');
  const prime = { name: `prime-${claim.metadata.uid}`, namespace: 'hello' };
  await world.until(persistentVolumeClaims, prime, (now) => now === undefined);
  await world.until(pods, { ...prime, name: pod.metadata.name }, (now) => now === undefined);
  assert.deepEqual(await world.told('PopulatorCreated'), ['Populator started']);
  assert.deepEqual(await world.told('PopulatorFinished'), ['Populator finished']);
  assert.match(world.metrics.text(), /volume_populator_operation_seconds_count\{result="success"\} 1/);
  await cluster.runPod('user', { claim: 'data' });
});

test('with delayed binding the volume is filled on the node that was selected for the claim', async (t) => {
  const world = await start(t);
  const { cluster } = world;
  const { items } = await cluster.settle(cluster.kube.list(storageClasses, {}));
  const delayed = items.find(({ volumeBindingMode }) => volumeBindingMode === 'WaitForFirstConsumer');
  world.run();
  const claim = await world.claim('data', { storageClassName: delayed?.metadata.name });
  await cluster.settle(
    cluster.kube.create(pods, {
      metadata: { name: 'user', namespace: 'default' },
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': 'node-2' },
        containers: [{ name: 'main', image: 'busybox' }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
      },
    }),
  );
  const pod = await world.podOf(claim);
  assert.equal(pod.spec.nodeName, 'node-2');
  await world.end(pod, 'Succeeded');
  const user = await cluster.until(pods, 'user', (now) => now?.status?.phase === 'Running');
  assert.equal(user?.spec.nodeName, 'node-2');
});

test('a pod that fails is reported and created again', async (t) => {
  const world = await start(t);
  world.run();
  const claim = await world.claim('data');
  const first = await world.podOf(claim);
  await world.end(first, 'Failed', 'disk on fire');
  const second = (await world.until(
    pods,
    { name: first.metadata.name, namespace: 'hello' },
    (now) => now?.status?.phase === 'Running' && now.metadata.uid !== first.metadata.uid,
  )) as Pod;
  assert.deepEqual(await world.told('PopulatorFailed'), ['Populator failed: disk on fire']);
  await world.end(second, 'Succeeded');
  await world.bound('data');
  assert.equal(world.volumes.size, 1);
});

test('a claim that is deleted on the way takes pod, prime claim and volume with it', async (t) => {
  const world = await start(t);
  const { cluster } = world;
  world.run();
  const claim = await world.claim('data');
  const pod = await world.podOf(claim);
  const { name, namespace } = claim.metadata;
  await cluster.settle(cluster.kube.delete(hellos, { name: 'greeting', namespace: 'default' }));
  await cluster.settle(cluster.kube.delete(persistentVolumeClaims, { name, namespace: namespace ?? '' }));
  await cluster.until(persistentVolumeClaims, name, (now) => now === undefined);
  await world.until(pods, { name: pod.metadata.name, namespace: 'hello' }, (now) => now === undefined);
  const prime = { name: `prime-${claim.metadata.uid}`, namespace: 'hello' };
  await world.until(persistentVolumeClaims, prime, (now) => now === undefined);
  await world.cluster.advance(60_000);
  assert.deepEqual([...world.volumes], []);
});

test('functions populate, too, and are asked again until the data is complete', async (t) => {
  const world = await start(t);
  const called: string[] = [];
  world.run({
    ...byPod,
    populate: {
      async start({ primeName, source }) {
        called.push(`start ${source.spec.fileContents}`);
        if (called.length === 1) throw new Error('not now');
        assert.match(primeName, /^prime-/);
      },
      async isComplete() {
        called.push('ask');
        return called.filter((each) => each === 'ask').length > 2;
      },
      async cleanUp() {
        called.push('clean up');
      },
    },
  });
  await world.claim('data');
  await world.bound('data');
  assert.deepEqual(called.slice(0, 7), [
    'start Hello',
    'start Hello',
    'ask',
    'start Hello',
    'ask',
    'start Hello',
    'ask',
  ]);
  assert.equal(called.at(-1), 'clean up');
  assert.deepEqual(await world.told('PopulateOperationStartError'), [
    'Failed to start populate operation: not now',
  ]);
  assert.ok((await world.told('PopulateOperationFinished')).length > 0);
});

test('[POP-2] a source in another namespace needs a grant, and is used as soon as there is one', async (t) => {
  const world = await start(t);
  const { kube } = world.cluster;
  await world.cluster.settle(kube.create(namespaces, { metadata: { name: 'library' } }));
  await world.cluster.settle(
    kube.create(hellos, {
      metadata: { name: 'book', namespace: 'library' },
      spec: { fileName: 'f', fileContents: 'a book' },
    } as Draft<Hello>),
  );
  world.run({ ...byPod, crossNamespace: true });
  const claim = await world.claim('data', {
    dataSourceRef: { ...dataSourceRef, name: 'book', namespace: 'library' },
  });
  const [told] = await world.told('PopulatorDataSourceNotFound');
  assert.match(told ?? '', /accessing library\/book of Hello dataSource from default\/data isn't allowed/);
  await world.cluster.settle(
    kube.create(referenceGrants, {
      metadata: { name: 'books', namespace: 'library' },
      spec: {
        from: [{ group: '', kind: 'PersistentVolumeClaim', namespace: 'default' }],
        to: [{ group: hellos.group, kind: hellos.kind }],
      },
    }),
  );
  const pod = await world.podOf(claim);
  assert.deepEqual(pod.spec.containers[0]?.args, ['a book', 'file']);
  await world.end(pod, 'Succeeded');
  const bound = await world.bound('data');
  const volume = await world.cluster.settle(
    kube.get(persistentVolumes, { name: bound.spec.volumeName ?? '' }),
  );
  assert.equal(volume.metadata.annotations?.['hello.example.com/populated-from'], 'library/book');
});

const WRITES = ['create', 'patch', 'delete'] as const;
for (const isDone of [false, true]) {
  const when = isDone ? 'right after' : 'right before';
  test(`a populator that dies ${when} any of its writes is continued by the next`, async (t) => {
    const world = await start(t);
    const { cluster } = world;
    /** The pods succeed by themselves. */
    const playing = new AbortController();
    const informers = createInformers({
      kube: cluster.kube,
      clock: cluster.clock,
      random: seededRandom('play'),
      log: memoryLog(),
    });
    informers.of(pods, { namespace: 'hello' }).subscribe({
      updated: (_before, pod) => {
        const { name, namespace = '', deletionTimestamp } = pod.metadata;
        if (pod.status?.phase !== 'Running' || deletionTimestamp !== undefined) return;
        const patch = { status: { phase: 'Succeeded' } };
        const how = { type: 'merge', subresource: 'status' } as const;
        cluster.kube.patch(pods, { name, namespace }, patch, how).catch(() => {});
      },
    });
    informers.start(playing.signal);
    t.after(() => playing.abort());
    for (let deadly = 1; ; deadly++) {
      const name = `data-${deadly}`;
      let writes = 0;
      let died = false;
      const dies = Promise.withResolvers<void>();
      const stop = world.run(byPod, (kube) => {
        const broken = { ...kube } as Record<string, unknown>;
        for (const verb of WRITES) {
          broken[verb] = async (...args: unknown[]) => {
            if (died) throw new Error('the process is dead');
            const call = () => (kube[verb] as (...all: unknown[]) => Promise<unknown>)(...args);
            if (++writes !== deadly) return call();
            died = true;
            if (isDone) await call();
            dies.resolve();
            return Promise.reject(new Error('the process died'));
          };
        }
        for (const verb of ['get', 'list', 'watch'] as const) broken[verb] = kube[verb].bind(kube);
        return broken as unknown as KubeClient;
      });
      await world.claim(name);
      const finished = awaitObject({
        kube: cluster.kube,
        clock: cluster.clock,
        resource: persistentVolumeClaims,
        at: { name, namespace: 'default' },
        timeoutMs: 600_000,
        signal: playing.signal,
        until: isPopulated,
      });
      await cluster.settle(Promise.race([dies.promise, finished]));
      await stop();
      const end = world.run();
      const claim = (await cluster.settle(finished)) as PersistentVolumeClaim;
      const prime = { name: `prime-${claim.metadata.uid}`, namespace: 'hello' };
      await world.until(persistentVolumeClaims, prime, (now) => now === undefined);
      const pod = { name: `populate-${claim.metadata.uid}`, namespace: 'hello' };
      await world.until(pods, pod, (now) => now === undefined);
      await end();
      await cluster.deleteClaim(name);
      if (!died) {
        assert.ok(deadly > 6, `only ${deadly - 1} writes`);
        return;
      }
    }
  });
}
