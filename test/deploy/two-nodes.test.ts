// Two real nodes, with Berth's image and manifests as printed: a volume is moved from one to the other, and storage that each node has
// for itself is used on both.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { programPath } from '../capabilities.ts';
import { temporaryDirectory } from '../e2e/up-process.ts';
import { KUBE_PROGRAMS, type KubeCluster, startKubeCluster } from '../real/kube-cluster.ts';
import { missingForContainers, writeImages } from '../real/real-up.ts';
import {
  buildImage,
  CLASSES,
  type DriverPlaces,
  driverFlags,
  podWith,
  snapshotOf,
  stored,
} from './cluster-life.ts';
import { printedText } from './print-manifests.ts';

const skip =
  missingForContainers(...KUBE_PROGRAMS) ||
  (programPath('apt-get') === undefined && 'this machine has no apt-get');
const EMPTY = { volumes: [], snapshots: [] };
const WORKLOADS = ['daemonset/local-csi-test-node', 'deployment/snapshot-controller'];
/** Each stays far below it; a busy machine may take long to start containers. */
const STEP = { timeout: 280_000 };
const SHOW = 'cat /data/file; sleep 1000';

test('[REAL-3] [DEP-1] [DEP-2] a volume moves between two real nodes, and each node provisions for itself', {
  skip,
  timeout: 590_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const image = await buildImage(directory);
  const images = [...writeImages(directory), image.archive];
  const own = join(directory, 'own');
  const cluster = await startKubeCluster(t, directory, { images, nodes: 2, perNode: [own] });
  await cluster.apply(
    await printedText([
      ...['--part=snapshot-controller', `--berth-image=${image.name}`],
      '--arg=snapshot-controller=--enable-distributed-snapshotting',
    ]),
  );
  /** Applied, rolled out, used and deleted again. */
  const installed = async (
    places: Omit<DriverPlaces, 'kubeletDir'>,
    use: () => Promise<void>,
  ): Promise<void> => {
    const path = join(directory, 'manifests.yaml');
    const flags = driverFlags(image.name, { ...places, kubeletDir: cluster.rootDir });
    await writeFile(path, await printedText(flags));
    await cluster.kubectl('apply', '-f', path);
    await cluster.apply(CLASSES);
    for (const workload of WORKLOADS)
      await cluster.kubectl('rollout', 'status', '-n', 'kube-system', workload, '--timeout=120s');
    await use();
    await cluster.kubectl('delete', '-f', path, '--timeout=60s');
  };

  await t.test('storage that all nodes share', STEP, async () => {
    const places = { state: join(directory, 'shared') };
    await installed(places, () => move(cluster, places.state));
  });
  await t.test('storage that each node has for itself', STEP, async () => {
    const places = {
      state: own,
      controller: ['--controller=daemonset', '--node-deployment'],
      // No attacher acts for one node only.
      driver: ['--topology=local.csi.test/node=$(NODE_ID)', '--without=attach'],
    };
    await installed(places, () => useOwnStorage(cluster, [own, `${own}-2`]));
  });
});

const untilReady = ({ kubectl }: KubeCluster, pod: string): Promise<string> =>
  kubectl('wait', `pod/${pod}`, '--for=condition=Ready', '--timeout=120s');

async function snapshot({ apply, kubectl }: KubeCluster, claim: string, name: string): Promise<void> {
  await apply(snapshotOf(claim, name));
  const ready = '--for=jsonpath={.status.readyToUse}=true';
  await kubectl('wait', `volumesnapshot/${name}`, ready, '--timeout=60s');
}

async function removeAll({ kubectl }: KubeCluster): Promise<void> {
  await kubectl('delete', 'pod,pvc,volumesnapshot', '--all', '--timeout=120s');
  await kubectl('wait', 'pv,volumesnapshotcontent', '--all', '--for=delete', '--timeout=120s');
  assert.equal(await kubectl('get', 'volumeattachments', '-o', 'name'), '');
}

/** Written on one node, read on the other, which also has the restored snapshot. */
async function move(cluster: KubeCluster, state: string): Promise<void> {
  const { apply, kubectl } = cluster;
  const [first, second] = cluster.nodes;
  const at = (node: string | undefined) => ({ node: node ?? '' });
  const write = 'echo from $(hostname) > /data/file; sleep 1000';
  await apply(podWith({ name: 'writer', claim: 'data', command: write, ...at(first) }));
  await untilReady(cluster, 'writer');
  await kubectl('delete', 'pod/writer', '--timeout=60s');
  await apply(podWith({ name: 'moved', claim: 'data', command: SHOW, ...at(second) }));
  await untilReady(cluster, 'moved');
  assert.equal(await kubectl('logs', 'moved'), 'from writer\n');
  const attached = await kubectl('get', 'volumeattachments', '-o', 'jsonpath={.items[*].spec.nodeName}');
  assert.equal(attached, second);

  await snapshot(cluster, 'data', 'taken');
  await apply(podWith({ name: 'reader', claim: 'restored', restored: 'taken', command: SHOW, ...at(first) }));
  await untilReady(cluster, 'reader');
  assert.equal(await kubectl('logs', 'reader'), 'from writer\n');
  await removeAll(cluster);
  assert.deepEqual(stored(state), EMPTY);
}

/** A volume on each node's own storage; a snapshot of each, made and restored where it lies. */
async function useOwnStorage(cluster: KubeCluster, states: readonly string[]): Promise<void> {
  const { apply, kubectl, nodes } = cluster;
  for (const [index, node] of nodes.entries()) {
    const command = `echo of ${node} > /data/file; sleep 1000`;
    await apply(podWith({ name: `writer-${index}`, claim: `data-${index}`, command, node }));
    await untilReady(cluster, `writer-${index}`);
  }
  assert.deepEqual(
    states.map((state) => stored(state).volumes.length),
    [1, 1],
  );
  const affinity =
    '{.items[*].spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values[0]}';
  const placed = await kubectl('get', 'pv', '-o', `jsonpath=${affinity}`);
  assert.deepEqual(placed.split(' ').sort(), nodes);

  // The volume cannot follow its pod to the other node, and the scheduler says so.
  await apply(podWith({ name: 'stray', claim: 'data-0', command: SHOW, node: nodes[1] ?? '' }));
  await kubectl('wait', 'pod/stray', '--for=condition=PodScheduled=false', '--timeout=60s');
  const why = await kubectl('get', 'pod/stray', '-o', 'jsonpath={.status.conditions[*].message}');
  assert.match(why, /volume node affinity|didn't match PersistentVolume's node affinity/);
  await kubectl('delete', 'pod/stray', '--timeout=60s');

  for (const [index, node] of nodes.entries()) {
    await snapshot(cluster, `data-${index}`, `taken-${index}`);
    const restored = { claim: `restored-${index}`, restored: `taken-${index}`, command: SHOW };
    await apply(podWith({ name: `reader-${index}`, ...restored, node }));
    await untilReady(cluster, `reader-${index}`);
    assert.equal(await kubectl('logs', `reader-${index}`), `of ${node}\n`);
  }
  assert.deepEqual(
    states.map((state) => Object.values(stored(state)).map(({ length }) => length)),
    [
      [2, 1],
      [2, 1],
    ],
  );
  await removeAll(cluster);
  assert.deepEqual(states.map(stored), [EMPTY, EMPTY]);
}
