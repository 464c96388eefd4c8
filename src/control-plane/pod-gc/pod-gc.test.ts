import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { nodes, pods } from '../../api/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
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

/** Pod GC whose client is changed, without a quarantine. */
const startWith = (t: TestContext, change: (kube: KubeClient) => object) =>
  startControllers(t, [
    {
      account: 'pod-garbage-collector',
      create: (ports) => {
        const kube = Object.assign(Object.create(ports.kube), change(ports.kube)) as KubeClient;
        return createPodGc({ ...ports, kube }, { quarantineMs: 0 });
      },
    },
  ]);

test('a pod is kept when the server knows its node, although the cache does not show it', async (t) => {
  let asked = 0;
  const started = await startWith(t, (kube) => ({
    get: async (...args: Parameters<typeof kube.get>) => {
      if ((args[0] as { plural: string }).plural !== 'nodes') return kube.get(...args);
      asked++;
      return { metadata: { name: 'a' } } as never;
    },
  }));
  await started.kube.create(pods, pod('p', { nodeName: 'a' }));
  while (asked === 0) await setImmediate();
  await started.kube.create(pods, pod('unscheduled', {}, { finalizers: ['test/a'] }));
  await started.kube.delete(pods, named('unscheduled'));
  await started.settled(pods, 'default/unscheduled', (object) => object?.status?.phase === 'Failed');
  assert.equal((await started.kube.get(pods, named('p'))).metadata.deletionTimestamp, undefined);
});

test('a pod goes with its node although the cache showed neither its coming nor its going', async (t) => {
  let isThere = true;
  let asked = 0;
  const started = await startWith(t, (kube) => ({
    get: async (...args: Parameters<typeof kube.get>) => {
      if ((args[0] as { plural: string }).plural !== 'nodes' || !isThere) return kube.get(...args);
      asked++;
      return { metadata: { name: 'a' } } as never;
    },
  }));
  await started.kube.create(pods, pod('p', { nodeName: 'a' }));
  while (asked === 0) await setImmediate();
  isThere = false;
  await started.settled(pods, 'default/p', (object) => object === undefined);
});

test('a pod ends by itself on a node that is back in service, although the cache does not show that', async (t) => {
  let asked = 0;
  let isRepaired = true;
  const started = await startWith(t, (kube) => ({
    get: async (...args: Parameters<typeof kube.get>) => {
      if ((args[0] as { plural: string }).plural !== 'nodes') return kube.get(...args);
      asked++;
      return isRepaired ? ({ metadata: { name: 'a' } } as never) : kube.get(...args);
    },
  }));
  const { kube } = started;
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' as const }];
  await kube.create(nodes, { metadata: { name: 'a' }, spec: { taints } });
  await kube.create(pods, pod('p', { nodeName: 'a' }, { finalizers: ['test/a'] }));
  await kube.delete(pods, named('p'));
  while (asked < 2) await setImmediate();
  assert.notEqual((await kube.get(pods, named('p'))).status?.phase, 'Failed');
  isRepaired = false;
  await started.settled(pods, 'default/p', (object) => object?.status?.phase === 'Failed');
});

test('a pod is kept and tried again when the server does not answer about its node', async (t) => {
  let refusals = 0;
  const started = await startWith(t, (kube) => ({
    get: async (...args: Parameters<typeof kube.get>) => {
      if ((args[0] as { plural: string }).plural !== 'nodes' || refusals > 0) return kube.get(...args);
      refusals++;
      throw new KubeError({ code: 500, reason: 'InternalError', message: 'no' });
    },
  }));
  await started.kube.create(pods, pod('p', { nodeName: 'a' }));
  await started.settled(pods, 'default/p', (object) => object === undefined);
  assert.match(started.log.text(), /Failed, will retry/);
});

test('a pod that is gone meanwhile is no error; one that cannot be deleted is tried again', async (t) => {
  const answers = [404, 500];
  const started = await startWith(t, (kube) => ({
    delete: async (...args: Parameters<typeof kube.delete>) => {
      const code = answers.shift();
      if (code === undefined) return kube.delete(...args);
      const reason = code === 404 ? 'NotFound' : 'InternalError';
      throw new KubeError({ code, reason, message: 'no' });
    },
  }));
  await started.kube.create(pods, pod('p', { nodeName: 'a' }));
  // Marked Failed, and its deletion was answered with NotFound: that write wakes it again.
  await started.settled(pods, 'default/p', (object) => object === undefined);
  assert.equal(started.log.text().split('Failed, will retry').length - 1, 1);
});

test('a pod that has ended is not marked', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(nodes, { metadata: { name: 'a' } });
  await kube.create(pods, pod('p', { nodeName: 'a' }, { finalizers: ['test/a'] }));
  const ended = { status: { phase: 'Succeeded' } };
  await kube.patch(pods, named('p'), ended, { type: 'merge', subresource: 'status' });
  await kube.delete(nodes, { name: 'a' });
  const seen = await started.settled(
    pods,
    'default/p',
    (object) => object?.metadata.deletionTimestamp !== undefined,
  );
  assert.equal(seen?.status?.phase, 'Succeeded');
  assert.equal(seen.status.conditions, undefined);
});
