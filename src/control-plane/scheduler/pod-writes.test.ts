// The scheduler's writes about pods, on a real API server.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Pod, pods } from '../../api/kinds.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { pod } from '../testing/objects.ts';
import { createPodWrites } from './pod-writes.ts';

const { signal } = new AbortController();
const name = { name: 'p', namespace: 'default' };

async function world(t: TestContext, change: (kube: KubeClient) => Partial<KubeClient> = () => ({})) {
  const clock = new VirtualClock();
  const server = await testServer(t, { clock });
  const admin = server.client(server.adminUser);
  const kube = Object.assign(Object.create(admin), change(admin)) as KubeClient;
  const writes = createPodWrites({ kube, clock, log: memoryLog() } as never);
  const made = await admin.create(pods, pod('p', { volumes: [] }));
  const read = () => admin.get(pods, name);
  const condition = async () =>
    (await read()).status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return { clock, admin, writes, made, read, condition };
}

test('the reason why a pod is not scheduled is written once, and again when it changes', async (t) => {
  const { clock, writes, made, read, condition } = await world(t);
  await writes.markUnschedulable(made, 'no room', signal);
  const first = await condition();
  const version = (await read()).metadata.resourceVersion;
  assert.deepEqual([first?.status, first?.reason, first?.message], ['False', 'Unschedulable', 'no room']);
  await clock.advance(60_000);
  await writes.markUnschedulable(await read(), 'no room', signal);
  assert.equal((await read()).metadata.resourceVersion, version, 'it says so already');
  await writes.markUnschedulable(await read(), 'no node', signal);
  const second = await condition();
  assert.equal(second?.message, 'no node');
  assert.equal(second?.lastTransitionTime, first?.lastTransitionTime, 'its status is the same');
});

test('a pod that was scheduled once is unschedulable since now', async (t) => {
  const { clock, admin, writes, condition, read } = await world(t);
  const lastTransitionTime = new Date(clock.now()).toISOString();
  const conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime, message: 'no room' }];
  await admin.patch(pods, name, { status: { conditions } }, { type: 'merge', subresource: 'status' });
  await clock.advance(60_000);
  await writes.markUnschedulable(await read(), 'no room', signal);
  const now = await condition();
  assert.equal(now?.status, 'False');
  assert.equal(Date.parse(now?.lastTransitionTime ?? ''), clock.now());
});

test('the node where others give way is written with the reason, and stays when there is no other', async (t) => {
  const { writes, made, read } = await world(t);
  await writes.markUnschedulable(made, 'no room', signal, 'n1');
  assert.equal((await read()).status?.nominatedNodeName, 'n1');
  const { resourceVersion } = (await read()).metadata;
  await writes.markUnschedulable(await read(), 'no room', signal);
  await writes.markUnschedulable(await read(), 'no room', signal, 'n1');
  assert.equal((await read()).metadata.resourceVersion, resourceVersion);
  await writes.markUnschedulable(await read(), 'no room', signal, 'n2');
  assert.equal((await read()).status?.nominatedNodeName, 'n2');
});

test('a pod that is gone is not marked', async (t) => {
  const { admin, writes, made } = await world(t);
  await admin.delete(pods, name, { gracePeriodSeconds: 0 });
  await writes.markUnschedulable(made, 'no room', signal);
});

test('a pod that another scheduler has bound keeps that node', async (t) => {
  const { admin, writes, made, read } = await world(t);
  assert.equal(await writes.bind(made, 'n1', signal), 'n1');
  assert.equal((await read()).spec.nodeName, 'n1');
  assert.equal(await writes.bind(made, 'n2', signal), 'n1');
  await admin.delete(pods, name, { gracePeriodSeconds: 0 });
  assert.equal(await writes.bind(made, 'n2', signal), undefined);
  await admin.create(pods, pod('p', { volumes: [], nodeName: 'n3' }));
  assert.equal(await writes.bind(made, 'n2', signal), undefined, 'it is another pod');
});

for (const [method, reason, code] of [
  ['createSubresource', 'InternalError', 500],
  ['get', 'InternalError', 500],
] as const) {
  test(`a binding that meets an error of ${method} fails`, async (t) => {
    const refuse = () => Promise.reject(new KubeError({ code, reason, message: 'no' }));
    const conflict = () => Promise.reject(new KubeError({ code: 409, reason: 'Conflict', message: 'taken' }));
    const change =
      method === 'get' ? { createSubresource: conflict, get: refuse } : { createSubresource: refuse };
    const { writes, made } = await world(t, () => change as never);
    await assert.rejects(writes.bind(made, 'n1', signal), /no/);
  });
}

test('a pod gives way with the reason in its status, once and as the pod that was meant', async (t) => {
  const { admin, writes, made, read } = await world(t);
  await admin.patch(pods, name, { metadata: { finalizers: ['test/kept'] } }, { type: 'merge' });
  await writes.preempt(made, 'berth', signal);
  const ended = await read();
  assert.ok(ended.metadata.deletionTimestamp);
  const target = ended.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual([target?.status, target?.reason], ['True', 'PreemptionByScheduler']);
  assert.match(target?.message ?? '', /^berth: preempting/);
  await admin.patch(pods, name, { metadata: { finalizers: null } }, { type: 'merge' });
  await writes.preempt(made as Pod, 'berth', signal);
});
