import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { leases, type Node, nodes, type Pod, pods } from '../../api/kinds.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { pod } from '../testing/objects.ts';
import { startControllers } from '../testing/start-controllers.ts';
import { evictionTimeMs, wantedTaints } from './decide-node.ts';
import { createNodeLifecycle, GRACE_MS } from './node-lifecycle.ts';

async function start(t: TestContext) {
  const clock = new VirtualClock();
  const started = await startControllers(t, [
    { account: 'node-controller', create: (ports) => createNodeLifecycle({ ...ports, clock }) },
  ]);
  const { kube } = started;
  const ready = { type: 'Ready', status: 'True' };
  await kube.create(nodes, { metadata: { name: 'a' }, status: { conditions: [ready] } });
  let renewals = 0;
  const renewTime = () =>
    new Date(Date.UTC(2026, 0, 1) + renewals++ * 1000).toISOString().replace('Z', '000Z');
  const at = { name: 'a', namespace: 'kube-node-lease' };
  await kube.create(leases, { metadata: at, spec: { holderIdentity: 'a', renewTime: renewTime() } });
  const renew = () => kube.patch(leases, at, { spec: { renewTime: renewTime() } }, { type: 'merge' });
  /** Advances virtual time until the condition holds. */
  async function passUntil(key: string, wanted: (object: Node | Pod | undefined) => boolean): Promise<void> {
    let done = false;
    const resource = key.includes('/') ? pods : nodes;
    void started.settled(resource as typeof nodes, key, wanted).then(() => {
      done = true;
    });
    while (!done) {
      await clock.advance(1_000);
      await setImmediate();
    }
  }
  return { ...started, clock, renew, passUntil };
}

const readyOf = (node: Node | undefined) =>
  node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
const taintsOf = (node: Node | undefined) =>
  (node?.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);

test('a node without heartbeats becomes Unknown and tainted, and recovers with the next heartbeat', async (t) => {
  const { kube, passUntil, renew } = await start(t);
  await passUntil('a', (node) => taintsOf(node as Node).length === 2);
  const silent = await kube.get(nodes, { name: 'a' });
  assert.equal(readyOf(silent), 'Unknown');
  assert.deepEqual(taintsOf(silent), [
    'node.kubernetes.io/unreachable:NoSchedule',
    'node.kubernetes.io/unreachable:NoExecute',
  ]);
  await renew();
  const conditions = [{ type: 'Ready', status: 'True' }];
  await kube.patch(
    nodes,
    { name: 'a' },
    { status: { conditions } },
    { type: 'merge', subresource: 'status' },
  );
  await passUntil('a', (node) => taintsOf(node as Node).length === 0 && readyOf(node as Node) === 'True');
});

test('a node that renews its lease is left alone', async (t) => {
  const { kube, clock, renew, informers } = await start(t);
  for (let beat = 0; beat < 10; beat++) {
    const { metadata } = await renew();
    await informers
      .of(leases)
      .waitFor('kube-node-lease/a', (lease) => lease?.metadata.resourceVersion === metadata.resourceVersion);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    await clock.advance(GRACE_MS / 2);
  }
  assert.equal(readyOf(await kube.get(nodes, { name: 'a' })), 'True');
});

test('pods are evicted from an unreachable node when their toleration ends', async (t) => {
  const { kube, passUntil } = await start(t);
  const forever = [{ key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' }];
  await kube.create(pods, pod('leaves', { nodeName: 'a' }));
  await kube.create(pods, pod('stays', { nodeName: 'a', tolerations: forever }));
  await passUntil('default/leaves', (object) => object?.metadata.deletionTimestamp !== undefined);
  const stays = await kube.get(pods, { name: 'stays', namespace: 'default' });
  assert.equal(stays.metadata.deletionTimestamp, undefined);
});

test('taints follow the Ready condition and leave those of others alone', () => {
  const stamp = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  const other = { key: 'example.com/other', effect: 'NoSchedule' };
  const node = (status: string, taints = [other]): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a', ...stamp },
    spec: { taints },
    status: { conditions: [{ type: 'Ready', status }] },
  });
  const nowIso = '2026-01-01T00:00:00Z';
  assert.equal(wantedTaints({ node: node('True'), nowIso }), undefined);
  const notReady = wantedTaints({ node: node('False'), nowIso }) ?? [];
  assert.deepEqual(
    notReady.map(({ key, effect }) => `${key}:${effect}`),
    [
      'example.com/other:NoSchedule',
      'node.kubernetes.io/not-ready:NoSchedule',
      'node.kubernetes.io/not-ready:NoExecute',
    ],
  );
  const tainted = { ...node('True'), spec: { taints: notReady } };
  assert.deepEqual(wantedTaints({ node: tainted, nowIso }), [other]);
  const web = { ...pod('web'), apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', ...stamp } } as Pod;
  const lost = { ...node('False'), spec: { taints: notReady } };
  assert.equal(evictionTimeMs(web, lost), Date.parse(nowIso) + 300_000);
  assert.equal(evictionTimeMs(web, node('True')), undefined);
});
