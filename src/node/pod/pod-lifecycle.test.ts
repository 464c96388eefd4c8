import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type Pod, pods } from '../../api/kinds.ts';
import { ANN_PUBLISHED_VOLUMES } from '../../api/well-known.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { diskFiles } from '../../csi-plugin/mount/disk-files.ts';
import { volumePaths } from '../../csi-plugin/mount/volume-paths.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import { lagging } from '../../runtime/informer/testing/lagging.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { GracePeriods } from './grace-periods.ts';
import { createPodLifecycle } from './pod-lifecycle.ts';
import type { PodVolumesState } from './pod-status.ts';

const NAME = { name: 'p', namespace: 'default' };
const waiting: PodVolumesState = {
  ready: false,
  waits: new Map([['data', 'not attached']]),
  published: new Map(),
};
const mounted: PodVolumesState = { ready: true, waits: new Map(), published: new Map([['data', '/path']]) };

/** A node with the pod `p`, whose volumes are as the test says. */
async function start(t: TestContext) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const root = await mkdtemp(join(tmpdir(), 'pl-'));
  t.after(() => rm(root, { recursive: true }));
  const clock = new VirtualClock();
  const log = memoryLog();
  const stop = new AbortController();
  const lag = lagging(pods);
  const informers = createInformers({
    kube: lag.faults(kube),
    clock: realClock,
    random: seededRandom(1),
    log,
  });
  const informer = informers.of(pods);
  const world = {
    state: waiting as PodVolumesState | undefined,
    isClear: false,
    patches: 0,
    send: (patch: () => Promise<unknown>): Promise<unknown> => patch(),
  };
  const counted: KubeClient = {
    ...kube,
    async patch(...call) {
      world.patches += 1;
      return (await world.send(() => kube.patch(...call))) as never;
    },
  };
  const paths = volumePaths(root);
  const lifecycle = createPodLifecycle({
    kube: counted,
    pods: informer,
    gracePeriods: new GracePeriods(clock),
    volumes: { stateOf: () => world.state, isClear: () => world.isClear },
    files: diskFiles(root, realClock),
    paths,
    clock,
    random: seededRandom(2),
    log,
  });
  informers.start(stop.signal);
  await informers.synced();
  const running = lifecycle.run(stop.signal);
  t.after(async () => {
    lag.release();
    stop.abort();
    await running;
  });
  const pod = await kube.create(pods, {
    metadata: NAME,
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
  });
  await informer.waitFor('default/p', (now) => now !== undefined, stop.signal);
  await clock.settle();
  const until = async (test: (pod: Pod | undefined) => boolean) => {
    const found = await informer.waitFor('default/p', test, AbortSignal.timeout(20_000));
    await clock.settle();
    return found;
  };
  const changed = async () => {
    lifecycle.changed('default/p');
    await clock.settle();
  };
  return { kube, world, lag, clock, log, paths, pod, until, changed, read: () => kube.get(pods, NAME) };
}

const phase = (wanted: string) => (pod: Pod | undefined) => pod?.status?.phase === wanted;
const started = (pod: Pod | undefined) => pod?.status?.startTime !== undefined;

test('a pod that is Running within a moment gets one status, not two', async (t) => {
  const { world, clock, until, changed } = await start(t);
  await clock.advance(150);
  assert.equal(world.patches, 0);
  world.state = mounted;
  await changed();
  const running = await until(phase('Running'));
  assert.equal(running?.metadata.annotations?.[ANN_PUBLISHED_VOLUMES], '{"data":"/path"}');
  await clock.advance(10_000);
  assert.equal(world.patches, 1);
});

test('a pod that waits longer says what it waits for, once', async (t) => {
  const { world, clock, until, changed, read } = await start(t);
  await clock.advance(199);
  await changed();
  await setImmediate();
  assert.equal(started(await read()), false);
  await clock.advance(1);
  const pending = await until(started);
  assert.match(JSON.stringify(pending?.status), /volume data: not attached/);
  await changed();
  assert.equal(world.patches, 1);
});

test('nothing is said of a pod whose volumes are not known yet', async (t) => {
  const { world, clock, changed } = await start(t);
  world.state = undefined;
  await changed();
  await clock.advance(10_000);
  assert.equal(world.patches, 0);
});

test('a terminating pod is deleted once its volumes are unmounted, with its empty directory', async (t) => {
  const { kube, world, clock, paths, pod, until, changed, read } = await start(t);
  world.state = mounted;
  await changed();
  await until(phase('Running'));
  await mkdir(paths.podVolumes(pod.metadata.uid).filesystem, { recursive: true });
  await kube.delete(pods, NAME, { gracePeriodSeconds: 30 });
  await until((now) => now?.metadata.deletionTimestamp !== undefined);
  await changed();
  assert.equal((await read()).status?.phase, 'Running', 'it has its grace period');
  const deletion = (await read()).metadata.deletionTimestamp ?? '';
  // Virtual time starts elsewhere than the server's.
  await clock.advance(Math.max(0, Date.parse(deletion) + 1000 - clock.now()));
  assert.ok(await read(), 'its volume is still mounted');
  world.isClear = true;
  await changed();
  await until((now) => now === undefined);
  assert.equal(existsSync(paths.podDir(pod.metadata.uid)), false);
});

test('a pod that has ended names no paths any more, and content that is not the node’s stays', async (t) => {
  const { kube, world, log, paths, pod, until, changed } = await start(t);
  world.state = mounted;
  await changed();
  await until(phase('Running'));
  const foreign = join(paths.podDir(pod.metadata.uid), 'notes');
  await mkdir(paths.podDir(pod.metadata.uid), { recursive: true });
  await writeFile(foreign, '');
  world.isClear = true;
  await kube.patch(pods, NAME, { status: { phase: 'Succeeded' } }, { subresource: 'status', type: 'merge' });
  const ended = await until((now) => now?.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] === undefined);
  assert.equal(ended?.status?.phase, 'Succeeded');
  assert.ok(existsSync(foreign));
  const { patches } = world;
  await changed();
  assert.equal(world.patches, patches);
  assert.match(log.text(), /is not empty and is kept/);
});

const lost = () => new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
const finished = { status: { phase: 'Succeeded' } };
const merge = { subresource: 'status', type: 'merge' } as const;

for (const patch of ['took effect', 'takes effect later']) {
  test(`a pod that ended does not run again after a write whose answer was lost and that ${patch}`, async (t) => {
    const { kube, world, lag, clock, changed, read } = await start(t);
    lag.hold();
    world.state = mounted;
    let late: (() => Promise<unknown>) | undefined;
    world.send = async (send) => {
      world.send = (next) => next();
      if (patch === 'took effect') await send();
      else late = send;
      throw lost();
    };
    await changed();
    for (let tries = 0; world.patches === 0 && tries < 1000; tries++) await setImmediate();
    await kube.patch(pods, NAME, finished, merge);
    await late?.().catch(() => {});
    for (let tries = 0; tries < 20; tries++) await clock.advance(1000);
    assert.equal((await read()).status?.phase, 'Succeeded');
    assert.ok(world.patches <= 3, `${world.patches} writes`);
  });
}

test('a pod of the same name on another node is left alone, while the cache still shows the one before it', async (t) => {
  const { kube, world, lag, clock, changed, read } = await start(t);
  lag.hold();
  await kube.delete(pods, NAME, { gracePeriodSeconds: 0 });
  const made = await kube.create(pods, {
    metadata: { ...NAME, annotations: { [ANN_PUBLISHED_VOLUMES]: '{"data":"/there"}' } },
    spec: { nodeName: 'n2', containers: [{ name: 'c', image: 'i' }] },
  });
  await kube.patch(pods, NAME, finished, merge);
  const other = await read();
  world.state = mounted;
  world.isClear = true;
  await changed();
  for (let tries = 0; world.patches === 0 && tries < 1000; tries++) await setImmediate();
  for (let tries = 0; tries < 20; tries++) await clock.advance(1000);
  assert.equal(other.metadata.uid, made.metadata.uid);
  assert.deepEqual(await read(), other);
});

test('a pod that others change, while its cache is silent, becomes Running at once', async (t) => {
  const { kube, world, lag, clock, changed, read } = await start(t);
  lag.hold();
  await kube.patch(pods, NAME, { metadata: { labels: { by: 'others' } } }, { type: 'merge' });
  world.state = mounted;
  await changed();
  for (let tries = 0; tries < 1000 && !phase('Running')(await read()); tries++) await clock.settle();
  const { metadata, status } = await read();
  assert.deepEqual([status?.phase, metadata.labels], ['Running', { by: 'others' }]);
});
