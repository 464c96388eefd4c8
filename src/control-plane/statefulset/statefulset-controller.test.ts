import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  nodes,
  type Pod,
  persistentVolumeClaims,
  pods,
  type StatefulSet,
  statefulSets,
} from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { isNotFound, KubeError } from '../../runtime/kube/kube-error.ts';
import { createGarbageCollector } from '../garbage-collector/garbage-collector.ts';
import { createClaimProtection } from '../protection/claim-protection.ts';
import { manualPorts } from '../testing/manual-ports.ts';
import { claim } from '../testing/objects.ts';
import { type Started, startControllers } from '../testing/start-controllers.ts';
import { createStatefulSetController } from './statefulset-controller.ts';

const rows = [
  { account: 'statefulset-controller', create: createStatefulSetController },
  { account: 'generic-garbage-collector', create: createGarbageCollector },
  { account: 'pvc-protection-controller', create: createClaimProtection },
];

/** Simulates nodes: every pod becomes ready soon, and ends when deleted. Records creations and deletions. */
async function start(t: TestContext): Promise<Started & { history: string[] }> {
  const started = await startControllers(t, rows);
  const { kube } = started;
  await kube.create(nodes, { metadata: { name: 'n' } });
  const history: string[] = [];
  const absent = (error: unknown): void => {
    if (!isNotFound(error)) throw error;
  };
  const live = (pod: Pod): void => {
    const { name, namespace = '', deletionTimestamp } = pod.metadata;
    if (deletionTimestamp || pod.status?.phase !== 'Pending') return;
    const condition = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const status = { phase: 'Running', conditions: [condition] };
    kube.patch(pods, { name, namespace }, { status }, { type: 'merge', subresource: 'status' }).catch(absent);
  };
  started.informers.of(pods).subscribe({
    added: (pod) => {
      history.push(`+${pod.metadata.name}`);
      live(pod);
    },
    updated: (_before, pod) => live(pod),
    deleted: (pod) => history.push(`-${pod.metadata.name}`),
  });
  return { ...started, history };
}

function web(spec: Partial<NonNullable<StatefulSet['spec']>> = {}): Draft<StatefulSet> {
  return {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 3,
      serviceName: 'web',
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'c', image: 'one' }] },
      },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim('x').spec }],
      ...spec,
    },
  };
}

const name = { name: 'web', namespace: 'default' };
const ready = ({ settled }: Started, count: number) =>
  settled(
    statefulSets,
    'default/web',
    (set) => set?.status?.readyReplicas === count && set.status.replicas === count,
  );
const claimNames = async ({ kube }: Started) =>
  (await kube.list(persistentVolumeClaims)).items.map(({ metadata }) => metadata.name).sort();

test('pods are created in order, each with its claims, and deleted in reverse; claims stay', async (t) => {
  const started = await start(t);
  const { kube, history } = started;
  await kube.create(statefulSets, web());
  await ready(started, 3);
  assert.deepEqual(history, ['+web-0', '+web-1', '+web-2']);
  assert.deepEqual(await claimNames(started), ['data-web-0', 'data-web-1', 'data-web-2']);
  await kube.patch(statefulSets, name, { spec: { replicas: 1 } }, { type: 'merge' });
  const scaled = await ready(started, 1);
  assert.deepEqual(history.slice(3), ['-web-2', '-web-1']);
  assert.equal((await claimNames(started)).length, 3);
  assert.equal(scaled?.status?.currentRevision, scaled?.status?.updateRevision);
});

test('a new template replaces pods from the last, and each gets its claim again', async (t) => {
  const started = await start(t);
  const { kube, history } = started;
  await kube.create(statefulSets, web({ replicas: 2 }));
  const before = await ready(started, 2);
  const containers = [{ name: 'c', image: 'two' }];
  await kube.patch(statefulSets, name, { spec: { template: { spec: { containers } } } }, { type: 'merge' });
  await started.settled(
    statefulSets,
    'default/web',
    (set) =>
      set?.status?.currentRevision !== before?.status?.currentRevision &&
      set?.status?.currentRevision === set?.status?.updateRevision &&
      set?.status?.readyReplicas === 2,
  );
  assert.deepEqual(history.slice(2), ['-web-1', '+web-1', '-web-0', '+web-0']);
  assert.deepEqual(await claimNames(started), ['data-web-0', 'data-web-1']);
});

test('deleting a set deletes its pods, and its claims if the policy says so', async (t) => {
  const started = await start(t);
  const { kube } = started;
  const policy = { whenDeleted: 'Delete', whenScaled: 'Delete' };
  await kube.create(
    statefulSets,
    web({ replicas: 2, podManagementPolicy: 'Parallel', persistentVolumeClaimRetentionPolicy: policy }),
  );
  await ready(started, 2);
  await kube.patch(statefulSets, name, { spec: { replicas: 1 } }, { type: 'merge' });
  await started.settled(persistentVolumeClaims, 'default/data-web-1', (object) => object === undefined);
  assert.deepEqual(await claimNames(started), ['data-web-0']);
  await kube.delete(statefulSets, name);
  await started.settled(pods, 'default/web-0', (object) => object === undefined);
  await started.settled(persistentVolumeClaims, 'default/data-web-0', (object) => object === undefined);
});

test('a claim that names the set as a plain owner gets a reference that names it as the controller', async (t) => {
  const started = await start(t);
  const { kube } = started;
  const persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Delete', whenScaled: 'Retain' };
  const { metadata } = await kube.create(
    statefulSets,
    web({ replicas: 1, persistentVolumeClaimRetentionPolicy }),
  );
  await ready(started, 1);
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: metadata.uid };
  const data = { name: 'data-web-0', namespace: 'default' };
  const patch = { metadata: { ownerReferences: [owner] } };
  await kube.patch(persistentVolumeClaims, data, patch, { type: 'merge' });
  await started.settled(
    persistentVolumeClaims,
    'default/data-web-0',
    (object) => object?.metadata.ownerReferences?.[0]?.controller === true,
  );
});

test('a recreated set adopts the orphaned pods', async (t) => {
  const started = await start(t);
  const { kube, history } = started;
  await kube.create(statefulSets, web({ replicas: 2 }));
  await ready(started, 2);
  await kube.delete(statefulSets, name, { propagationPolicy: 'Orphan' });
  await started.settled(statefulSets, 'default/web', (object) => object === undefined);
  const again = await kube.create(statefulSets, web({ replicas: 2 }));
  await ready(started, 2);
  const pod = await kube.get(pods, { name: 'web-0', namespace: 'default' });
  assert.equal(pod.metadata.ownerReferences?.[0]?.uid, again.metadata.uid);
  assert.deepEqual(history, ['+web-0', '+web-1']);
});

test('it continues after a restart', async (t) => {
  const started = await start(t);
  await started.restart(() => started.kube.create(statefulSets, web()));
  await started.settled(pods, 'default/web-0', (object) => object !== undefined);
  await started.restart();
  await ready(started, 3);
  assert.deepEqual(started.history, ['+web-0', '+web-1', '+web-2']);
});

/** The watches show what the test lets them show. */
function silentWorld(t: TestContext) {
  const live = new Map<string, object>();
  const requests: string[] = [];
  const kube = {
    async create({ plural }: { plural: string }, draft: { metadata: { name: string } }) {
      const key = `${plural} ${draft.metadata.name}`;
      requests.push(key);
      if (live.has(key)) throw new KubeError({ code: 409, reason: 'AlreadyExists', message: 'it is there' });
      live.set(key, draft);
    },
    get: async ({ plural }: { plural: string }, object: { name: string }) =>
      live.get(`${plural} ${object.name}`),
    update: async (_: object, object: object) => object,
  };
  const { informers, clock, ports } = manualPorts(kube);
  const set = {
    ...web({ replicas: 1 }),
    metadata: { ...name, uid: 'set', resourceVersion: '1', generation: 1 },
  };
  informers.change(statefulSets, undefined, set);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const show = (resource: typeof pods | typeof persistentVolumeClaims, objectName: string) => {
    const made = live.get(`${resource.plural} ${objectName}`) as Draft<Pod>;
    const metadata = { ...made.metadata, uid: objectName, resourceVersion: '1' };
    informers.change(resource, undefined, { ...made, metadata, status: { phase: 'Pending' } });
  };
  return { live, requests, show, clock, run: () => void createStatefulSetController(ports).run(stop.signal) };
}

for (const [what, key, resource] of [
  ['pod', 'pods web-0', pods],
  ['claim', 'persistentvolumeclaims data-web-0', persistentVolumeClaims],
] as const)
  test(`a ${what} that the cache never showed is created again once it is deleted`, async (t) => {
    const { live, requests, show, clock, run } = silentWorld(t);
    run();
    await clock.advance(1);
    for (const other of [pods, persistentVolumeClaims])
      if (other !== resource) show(other, other === pods ? 'web-0' : 'data-web-0');
    // The loop has been woken, and the object was there.
    await clock.advance(1);
    assert.ok(requests.filter((each) => each === key).length >= 2);
    assert.ok(live.delete(key));
    await clock.advance(20_000);
    assert.ok(live.has(key), 'nobody wakes the loop');

    show(resource, key.split(' ')[1] ?? '');
    await clock.advance(1);
    const before = requests.length;
    await clock.advance(600_000);
    assert.deepEqual(requests.slice(before), [], 'it ends once the caches show it');
  });

test('where the watches show at once what was created, no request is made again', async (t) => {
  const { requests, show, clock, run } = silentWorld(t);
  run();
  await clock.advance(1);
  show(persistentVolumeClaims, 'data-web-0');
  show(pods, 'web-0');
  await clock.advance(600_000);
  assert.deepEqual(requests, ['persistentvolumeclaims data-web-0', 'pods web-0']);
});
