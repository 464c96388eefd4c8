import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInformers } from '../runtime/informer/create-informers.ts';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';
import { silentLog } from '../runtime/log/log.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import { seededRandom } from '../runtime/random.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { controllers } from './index.ts';
import { createScheduler } from './scheduler/scheduler.ts';
import { createSnapshotController } from './snapshot/snapshot-controller.ts';

/** The controllers are made and do not run, so none of these is called. */
function ports() {
  const kube = {} as KubeClient & Discovery;
  const common = { kube, clock: new VirtualClock(), random: seededRandom(1), log: silentLog };
  return {
    ...common,
    discovery: kube,
    informers: createInformers(common),
    recorder: { event: () => {} } as never,
    metrics: createMetrics(),
  };
}

async function queuesOf(create: (made: ReturnType<typeof ports>) => unknown): Promise<string[]> {
  const made = ports();
  create(made);
  const text = await made.metrics.text();
  return [...text.matchAll(/^workqueue_depth\{name="([^"]+)"\}/gm)].map(([, name]) => name ?? '').sort();
}

/** Dashboards select by these names. */
const table: Record<string, string[]> = {
  'persistentvolume-binder-controller': ['claims', 'volumes'],
  'persistentvolume-attach-detach-controller': ['attach-detach', 'attached-report'],
  'persistentvolumeclaim-protection-controller': ['claim-protection'],
  'persistentvolume-protection-controller': ['volume-protection'],
  'volumeattributesclass-protection-controller': ['class-protection'],
  'ephemeral-volume-controller': ['ephemeral-claims'],
  'garbage-collector-controller': ['garbage', 'garbage-discovery'],
  'namespace-controller': ['namespaces'],
  'node-lifecycle-controller': ['node-lifecycle', 'taint-eviction'],
  'pod-garbage-collector-controller': ['pod-garbage'],
  'resourcequota-controller': ['resource-quota'],
  'statefulset-controller': ['statefulsets'],
  'csidriver-mapping-controller': ['csidriver-mapping'],
};
for (const { name, create } of controllers) {
  test(`${name}: its queues are measured`, async () => assert.deepEqual(await queuesOf(create), table[name]));
}

test('the scheduler: its queue is measured', async () => {
  assert.deepEqual(await queuesOf(createScheduler), ['scheduler']);
});

test('the snapshot controller: its queues are measured', async () => {
  const queues = ['claim', 'content', 'group-content', 'group-snapshot', 'snapshot'].map(
    (kind) => `snapshot-controller-${kind}`,
  );
  assert.deepEqual(await queuesOf(createSnapshotController), queues);
});
