import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { nodes, pods } from '../../api/kinds.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { pod } from '../testing/objects.ts';
import { startControllers } from '../testing/start-controllers.ts';
import { decidePod } from './decide-pod.ts';
import { createPodGc, QUARANTINE_MS } from './pod-gc.ts';

const start = (t: TestContext) =>
  startControllers(t, [
    { account: 'pod-garbage-collector', create: (ports) => createPodGc(ports, { quarantineMs: 0 }) },
  ]);
const named = (name: string) => ({ name, namespace: 'default' });

test('pods of a deleted node are deleted, others are kept', async (t) => {
  const started = await start(t);
  const { kube } = started;
  for (const name of ['a', 'b']) await kube.create(nodes, { metadata: { name } });
  await kube.create(pods, pod('on-a', { nodeName: 'a' }));
  await kube.create(pods, pod('on-b', { nodeName: 'b' }));
  await kube.create(pods, pod('nowhere'));
  await kube.delete(nodes, { name: 'a' });
  await started.settled(pods, 'default/on-a', (object) => object === undefined);
  await kube.get(pods, named('on-b'));
  await kube.get(pods, named('nowhere'));
});

test('such a pod is first marked Failed, with the reason', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(pods, pod('p', { nodeName: 'gone' }, { finalizers: ['example.com/hold'] }));
  const seen = await started.settled(
    pods,
    'default/p',
    (object) => object?.metadata.deletionTimestamp !== undefined,
  );
  assert.equal(seen?.status?.phase, 'Failed');
  assert.equal(seen?.status?.conditions?.[0]?.message, 'PodGC: its node no longer exists');
  await kube.patch(pods, named('p'), { metadata: { finalizers: null } }, { type: 'merge' });
});

test('a node that comes back in time keeps its pods', async (t) => {
  const clock = new VirtualClock();
  const started = await startControllers(t, [
    { account: 'pod-garbage-collector', create: (ports) => createPodGc({ ...ports, clock }) },
  ]);
  const { kube } = started;
  await kube.create(pods, pod('p', { nodeName: 'a' }));
  await kube.create(pods, pod('q', { nodeName: 'b' }));
  while (clock.pendingTimers === 0) await setImmediate();
  await clock.advance(QUARANTINE_MS / 2);
  await kube.get(pods, named('q'));
  await kube.create(nodes, { metadata: { name: 'a' } });
  const gone = started.settled(pods, 'default/q', (object) => object === undefined);
  let isGone = false;
  void gone.then(() => {
    isGone = true;
  });
  while (!isGone) {
    await clock.advance(QUARANTINE_MS);
    await setImmediate();
  }
  await kube.get(pods, named('p'));
});

test('a terminating pod on an out-of-service node is force-deleted', async (t) => {
  const started = await start(t);
  const { kube } = started;
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' as const }];
  await kube.create(nodes, { metadata: { name: 'a' } });
  for (const name of ['ending', 'running']) await kube.create(pods, pod(name, { nodeName: 'a' }));
  await kube.delete(pods, named('ending'));
  await kube.patch(nodes, { name: 'a' }, { spec: { taints } }, { type: 'merge' });
  await started.settled(pods, 'default/ending', (object) => object === undefined);
  await kube.get(pods, named('running'));
});

test('when a pod must be force-deleted', () => {
  const stamp = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  const kinds = { apiVersion: 'v1', kind: 'Node' };
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const given = (deleting: boolean, nodeName?: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', ...stamp, ...(deleting && { deletionTimestamp }) },
    spec: { containers: [], ...(nodeName !== undefined && { nodeName }) },
  });
  const node = (ready: boolean, tainted: boolean) => ({
    ...kinds,
    metadata: { name: 'a', ...stamp },
    spec: tainted ? { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] } : {},
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  });
  const table = [
    { pod: given(false), node: undefined, then: 'nothing' },
    { pod: given(true), node: undefined, then: 'delete' },
    { pod: given(false, 'a'), node: undefined, then: 'quarantine' },
    { pod: given(true, 'a'), node: node(false, false), then: 'nothing' },
    { pod: given(true, 'a'), node: node(true, true), then: 'nothing' },
    { pod: given(true, 'a'), node: node(false, true), then: 'delete' },
    { pod: given(false, 'a'), node: node(false, true), then: 'nothing' },
  ];
  for (const { then, ...snapshot } of table) {
    assert.equal(decidePod(snapshot).do, then, JSON.stringify(snapshot));
  }
});
