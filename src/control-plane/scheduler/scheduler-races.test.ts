// Races between the scheduler's own writes and the watch that shows them later.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, type PersistentVolume, persistentVolumeClaims, pods } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { selectedNodeOf } from '../../api/volumes.ts';
import { lagging } from '../../runtime/informer/testing/lagging.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { schedulerWorld } from './testing/scheduler-world.ts';

for (const isAnswered of [true, false])
  test(`a pod that is bound keeps its place although the watch does not show it yet${isAnswered ? '' : ', nor did an answer come'}`, async (t) => {
    const lag = lagging(pods);
    let isLost = !isAnswered;
    const w = await schedulerWorld(t, {
      faults: (kube) => ({
        ...lag.faults(kube),
        createSubresource: async <R>(...call: Parameters<typeof kube.createSubresource>) => {
          const answer = await kube.createSubresource<R>(...call);
          if (!isLost) return answer;
          isLost = false;
          throw new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
        },
      }),
    });
    await w.startScheduler();
    await w.startBinder();
    await w.csiNode('n', { allocatable: { count: 1 } });
    for (const name of ['one', 'two']) {
      await w.boundClaim(name);
      await w.pod(name, [name]);
    }
    await w.settle();
    lag.hold();
    await w.node('n');
    const boundPods = async () => {
      const { items } = await w.make(w.kube.list(pods));
      return items.filter(({ spec }) => spec.nodeName).map(({ metadata }) => metadata.name);
    };
    await w.settle();
    const first = await boundPods();
    assert.equal(first.length, 1);
    // Every change of the claims wakes both pods, again and again.
    for (let i = 0; i < 3; i++) {
      for (const name of ['one', 'two']) {
        const annotations = { touched: String(i) };
        const claim = { name, namespace: 'default' };
        await w.make(
          w.kube.patch(persistentVolumeClaims, claim, { metadata: { annotations } }, { type: 'merge' }),
        );
      }
      await w.settle();
    }
    assert.deepEqual(await boundPods(), first);
    lag.release();
    await w.settle();
    assert.deepEqual(await boundPods(), first);
  });

test('a selected node is not taken as rejected while the watch does not show it yet', async (t) => {
  const lag = lagging(persistentVolumeClaims);
  const w = await schedulerWorld(t, lag);
  await w.startScheduler();
  await w.storageClass('late');
  for (const name of ['n1', 'n2', 'n3']) await w.node(name);
  await w.claim('data');
  await w.settle();
  lag.hold();
  await w.pod('p', ['data']);
  await w.settle();
  const chosen = selectedNodeOf(await w.readClaim('data'));
  assert.notEqual(chosen, undefined);
  for (let i = 0; i < 3; i++) {
    const annotations = { touched: String(i) };
    await w.make(
      w.kube.patch(
        pods,
        { name: 'p', namespace: 'default' },
        { metadata: { annotations } },
        { type: 'merge' },
      ),
    );
    await w.settle();
  }
  assert.equal(selectedNodeOf(await w.readClaim('data')), chosen);
  assert.deepEqual(await w.eventsOn('p'), []);
  lag.release();
  await w.settle();
  assert.equal(selectedNodeOf(await w.readClaim('data')), chosen);
});

const wantsCpu = { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] };
const zoneA = { labels: { zone: 'a' } };
const oneCpu = { status: { allocatable: { cpu: '1', memory: '1Gi', pods: '10' } } };

test('a pod gets the room of one that was to go there, when that one goes elsewhere', async (t) => {
  const w = await schedulerWorld(t);
  await w.startScheduler();
  await w.storageClass('late');
  for (const name of ['n1', 'n2']) await w.node(name, oneCpu);
  await w.claim('data');
  await w.pod('p', ['data'], wantsCpu);
  await w.settle();
  const chosen = selectedNodeOf(await w.readClaim('data')) ?? '';
  await w.pod('q', [], { ...wantsCpu, nodeSelector: { 'kubernetes.io/hostname': chosen } });
  await w.settle();
  assert.equal(await w.nodeOf('q'), undefined);
  await w.giveUp('data');
  await w.settle();
  assert.notEqual(selectedNodeOf(await w.readClaim('data')), chosen);
  assert.equal(await w.nodeOf('q'), chosen);
});

test('a pod gets the room of one that is deleted while it is being bound', async (t) => {
  const lag = lagging(pods);
  let gone: string | undefined;
  const w = await schedulerWorld(t, {
    faults: (kube) => ({
      ...lag.faults(kube),
      createSubresource: async <R>(...call: Parameters<typeof kube.createSubresource>) => {
        if (gone === undefined) {
          gone = call[1].name;
          await w.kube.delete(pods, { name: gone, namespace: 'default' }, { gracePeriodSeconds: 0 });
        }
        return kube.createSubresource<R>(...call);
      },
    }),
  });
  await w.startScheduler();
  await w.node('n', oneCpu);
  for (const name of ['one', 'two']) await w.pod(name, [], { ...wantsCpu, nodeSelector: { zone: 'a' } });
  await w.settle();
  // Its deletion is seen after the answer.
  lag.hold();
  await w.make(w.kube.patch(nodes, { name: 'n' }, { metadata: zoneA }, { type: 'merge' }));
  await w.settle();
  lag.release();
  await w.settle();
  assert.equal(await w.nodeOf(gone === 'one' ? 'two' : 'one'), 'n');
});

test('a pod gets the volume that another held, and could not reserve before it was deleted', async (t) => {
  let gone: string | undefined;
  const w = await schedulerWorld(t, {
    faults: (kube) => ({
      ...kube,
      update: async <K extends KubeObject>(...call: Parameters<typeof kube.update<K>>) => {
        if (call[0].plural === 'persistentvolumes' && gone === undefined) {
          gone = (call[1] as unknown as PersistentVolume).spec.claimRef?.name ?? '';
          await w.kube.delete(pods, { name: gone, namespace: 'default' }, { gracePeriodSeconds: 0 });
          throw new KubeError({ reason: 'InternalError', code: 500, message: 'it is not written' });
        }
        return kube.update<K>(...call);
      },
    }),
  });
  await w.startScheduler();
  await w.startBinder();
  await w.storageClass('late', { provisioner: 'kubernetes.io/no-provisioner' });
  await w.node('n');
  await w.volume('only');
  for (const name of ['one', 'two']) {
    await w.claim(name);
    await w.pod(name, [name], { nodeSelector: { zone: 'a' } });
  }
  await w.settle();
  await w.make(w.kube.patch(nodes, { name: 'n' }, { metadata: zoneA }, { type: 'merge' }));
  await w.settle();
  assert.equal(await w.nodeOf(gone === 'one' ? 'two' : 'one'), 'n');
});
