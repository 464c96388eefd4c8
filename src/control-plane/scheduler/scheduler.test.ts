import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { csiNodes, nodes, pods, priorityClasses, volumeAttachments } from '../../api/kinds.ts';
import { selectedNodeOf } from '../../api/volumes.ts';
import { ANN_SELECTED_NODE } from '../../api/well-known.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { DRIVER, reachableFrom, schedulerWorld } from './testing/scheduler-world.ts';

const zone = (value: string) => ({ labels: { zone: value } });
const allowed = (...values: string[]) => ({
  allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values }] }],
});

/** Three nodes in three zones, the driver on each of them. */
async function threeZones(t: TestContext) {
  const w = await schedulerWorld(t);
  await w.startScheduler();
  await w.startBinder();
  for (const name of ['a', 'b', 'c']) {
    await w.node(`node-${name}`, zone(name));
    await w.csiNode(`node-${name}`, { topologyKeys: ['zone'] });
  }
  return w;
}

test('[TOP-8] a bound claim takes its pod to a node that its volume can reach', async (t) => {
  const w = await threeZones(t);
  await w.boundClaim('data', reachableFrom('zone', 'b'));
  await w.pod('p', ['data']);
  await w.settle();
  assert.equal(await w.nodeOf('p'), 'node-b');
  assert((await w.eventsOn('p')).includes('Scheduled: Successfully assigned default/p to node-b'));
});

test('[TOP-8] volumes that cannot be reached from one node keep the pod waiting, with the reasons counted', async (t) => {
  const w = await threeZones(t);
  await w.boundClaim('here', reachableFrom('zone', 'a'));
  await w.boundClaim('there', reachableFrom('zone', 'b'));
  await w.pod('p', ['here', 'there']);
  await w.settle();
  const message = "0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity.";
  assert((await w.eventsOn('p')).includes(`FailedScheduling: ${message}`));
  const condition = (await w.readPod('p')).status?.conditions?.find(({ type }) => type === 'PodScheduled');
  assert.equal(condition?.status, 'False');
  assert.equal(condition?.reason, 'Unschedulable');
  assert.equal(condition?.message, message);
  const labels = { zone: 'a' };
  await w.make(w.kube.patch(nodes, { name: 'node-b' }, { metadata: { labels } }, { type: 'merge' }));
  await w.settle();
  assert.equal(await w.nodeOf('p'), undefined, 'both zones on no node');
});

test('[TOP-8] an unbound delayed claim: the node fits AllowedTopologies, is written on the claim, and the pod follows once it is bound', async (t) => {
  const w = await threeZones(t);
  await w.storageClass('late', allowed('c'));
  await w.claim('data');
  await w.pod('p', ['data']);
  await w.settle();
  assert.equal(selectedNodeOf(await w.readClaim('data')), 'node-c');
  assert.equal(await w.nodeOf('p'), undefined, 'not before its volume is there');
  await w.provision('data', reachableFrom('zone', 'c'));
  await w.settle();
  assert.equal((await w.readClaim('data')).status?.phase, 'Bound');
  assert.equal(await w.nodeOf('p'), 'node-c');
});

test('[TOP-8] a delayed claim skips the shared volume and a reserved one that is too small, and takes a plain one', async (t) => {
  const w = await threeZones(t);
  await w.storageClass('late', { provisioner: 'kubernetes.io/no-provisioner' });
  await w.volume('shared', {
    accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
    ...reachableFrom('zone', 'b'),
  });
  await w.volume('plain', { capacity: { storage: '9Gi' }, ...reachableFrom('zone', 'b') });
  const claimRef = { name: 'data', namespace: 'default' };
  await w.volume('reserved', { claimRef, capacity: { storage: '1Mi' }, ...reachableFrom('zone', 'c') });
  await w.settle();
  await w.claim('data');
  await w.pod('p', ['data']);
  await w.settle();
  assert.equal((await w.readClaim('data')).spec.volumeName, 'plain');
  assert.equal(await w.nodeOf('p'), 'node-b');
});

test('[TOP-8] where the driver publishes capacity, only nodes with enough of it are chosen', async (t) => {
  const w = await threeZones(t);
  await w.driver({ storageCapacity: true });
  await w.storageClass('late');
  await w.capacity('in-a', { zone: 'a' }, '512Mi');
  await w.capacity('in-b', { zone: 'b' }, '10Gi');
  await w.capacity('other-class', { zone: 'c' }, '10Gi', 'other');
  await w.claim('data');
  await w.claim('huge', { resources: { requests: { storage: '1Ti' } } });
  await w.pod('p', ['data']);
  await w.pod('q', ['huge']);
  await w.settle();
  assert.equal(selectedNodeOf(await w.readClaim('data')), 'node-b');
  assert(
    (await w.eventsOn('q')).includes(
      'FailedScheduling: 0/3 nodes are available: 3 node(s) did not have enough free storage.',
    ),
  );
  await w.capacity('more-in-a', { zone: 'a' }, '2Ti');
  await w.settle();
  assert.equal(selectedNodeOf(await w.readClaim('huge')), 'node-a', 'woken by what was published');
});

test('[TOP-8] a node that was given up is noticed by a cache that never showed it as selected', async (t) => {
  // As after a watch that was silent and expired.
  const forgetful = (kube: KubeClient): KubeClient => ({
    ...kube,
    async *watch(resource, options) {
      for await (const event of kube.watch(resource, options)) {
        const isSelection =
          event.type === 'MODIFIED' && event.object.metadata.annotations?.[ANN_SELECTED_NODE] !== undefined;
        if (!isSelection) yield event;
      }
    },
  });
  const w = await schedulerWorld(t, { faults: forgetful });
  await w.startScheduler();
  await w.startBinder();
  await w.node('node-a', zone('a'));
  await w.csiNode('node-a', { topologyKeys: ['zone'] });
  await w.storageClass('late', allowed('a'));
  await w.claim('data');
  await w.pod('p', ['data']);
  await w.settle();
  assert.equal(selectedNodeOf(await w.readClaim('data')), 'node-a');
  await w.giveUp('data');
  await w.clock.advance(10_000);
  assert.equal(selectedNodeOf(await w.readClaim('data')), 'node-a');
});

test('[TOP-8] when provisioning fails for a node, another is chosen; when none is left, the same node after a backoff', async (t) => {
  const w = await threeZones(t);
  await w.storageClass('late', allowed('a', 'b'));
  await w.claim('data');
  await w.pod('p', ['data']);
  await w.settle();
  const first = selectedNodeOf(await w.readClaim('data'));
  await w.giveUp('data');
  await w.settle();
  const second = selectedNodeOf(await w.readClaim('data'));
  assert.deepEqual([first, second].sort(), ['node-a', 'node-b']);
  assert(
    (await w.eventsOn('p')).some((event) =>
      event.includes(`provisioning failed for PVC "default/data" on node "${first}"`),
    ),
  );
  await w.giveUp('data');
  await w.clock.advance(500);
  assert.equal(selectedNodeOf(await w.readClaim('data')), undefined, 'both were tried just now');
  await w.clock.advance(10_000);
  assert.notEqual(selectedNodeOf(await w.readClaim('data')), undefined);
  await w.provision('data');
  await w.settle();
  assert.notEqual(await w.nodeOf('p'), undefined);
});

test('[TOP-9] a node without CSINode, without the driver in it, or without its topology labels is passed over until it is right', async (t) => {
  const w = await schedulerWorld(t);
  await w.startScheduler();
  await w.startBinder();
  await w.driver();
  await w.storageClass('late');
  await w.node('node-bare', zone('a'));
  await w.node('node-other', zone('a'));
  await w.csiNode('node-other', { name: 'another.example' });
  await w.node('node-unlabelled');
  await w.csiNode('node-unlabelled', { topologyKeys: ['zone'] });
  await w.claim('data');
  await w.pod('p', ['data']);
  await w.settle();
  assert.equal(selectedNodeOf(await w.readClaim('data')), undefined);
  assert(
    (await w.eventsOn('p')).includes(
      `FailedScheduling: 0/3 nodes are available: 1 node(s) did not carry the topology labels of CSI driver ${DRIVER} yet, 2 ${DRIVER} CSI driver is not installed on the node.`,
    ),
  );
  const labels = { zone: 'z' };
  await w.make(w.kube.patch(nodes, { name: 'node-unlabelled' }, { metadata: { labels } }, { type: 'merge' }));
  await w.settle();
  assert.equal(selectedNodeOf(await w.readClaim('data')), 'node-unlabelled');
});

test('[TOP-9] a CSINode that appears later wakes the pod that waits for it', async (t) => {
  const w = await schedulerWorld(t);
  await w.startScheduler();
  await w.driver();
  await w.storageClass('late');
  await w.node('node-a');
  await w.claim('data');
  await w.pod('p', ['data']);
  await w.settle();
  assert.equal(selectedNodeOf(await w.readClaim('data')), undefined);
  await w.csiNode('node-a');
  await w.settle();
  assert.equal(selectedNodeOf(await w.readClaim('data')), 'node-a');
});

test('a delayed claim takes a volume that exists, on a node that reaches it, before one is made', async (t) => {
  const w = await threeZones(t);
  await w.storageClass('late');
  await w.volume('local', reachableFrom('kubernetes.io/hostname', 'node-b'));
  await w.settle();
  await w.claim('data');
  await w.pod('p', ['data']);
  await w.settle();
  const claim = await w.readClaim('data');
  assert.equal(claim.spec.volumeName, 'local');
  assert.equal(selectedNodeOf(claim), undefined, 'no provisioner was asked');
  assert.equal(await w.nodeOf('p'), 'node-b');
});

test('static volumes: two concurrent pods get two of them, a third waits for another', async (t) => {
  const w = await threeZones(t);
  await w.storageClass('late', { provisioner: 'kubernetes.io/no-provisioner' });
  await w.volume('one', reachableFrom('kubernetes.io/hostname', 'node-a'));
  await w.volume('two', reachableFrom('kubernetes.io/hostname', 'node-a'));
  await w.settle();
  for (const name of ['x', 'y', 'z']) await w.claim(name);
  for (const name of ['x', 'y', 'z']) await w.pod(`pod-${name}`, [name]);
  await w.settle();
  const placed = await Promise.resolve().then(async () => {
    const found: (string | undefined)[] = [];
    for (const name of ['x', 'y', 'z']) found.push(await w.nodeOf(`pod-${name}`));
    return found;
  });
  assert.deepEqual(placed, ['node-a', 'node-a', undefined]);
  assert(
    (await w.eventsOn('pod-z')).includes(
      "FailedScheduling: 0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind.",
    ),
  );
  await w.volume('three', reachableFrom('kubernetes.io/hostname', 'node-c'));
  await w.settle();
  assert.equal(await w.nodeOf('pod-z'), 'node-c');
});

test('a pod waits for claims that are missing, unbound, lost or not its own, and says which', async (t) => {
  const w = await threeZones(t);
  await w.storageClass('now', { volumeBindingMode: 'Immediate' });
  await w.claim('unbound', { storageClassName: 'now' });
  await w.claim('classless', { storageClassName: 'nowhere' });
  await w.claim('mine-scratch');
  const scratch = {
    name: 'scratch',
    ephemeral: {
      volumeClaimTemplate: {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    },
  };
  const table: [string, Parameters<typeof w.pod>[1], string][] = [
    ['a', ['nothing'], 'persistentvolumeclaim "nothing" not found'],
    ['b', ['unbound'], 'pod has unbound immediate PersistentVolumeClaims'],
    ['c', ['classless'], 'storageclass.storage.k8s.io "nowhere" not found'],
    [
      'd',
      [scratch],
      'waiting for ephemeral volume controller to create the persistentvolumeclaim "d-scratch"',
    ],
    ['mine', [scratch], 'PVC default/mine-scratch was not created for pod default/mine (pod is not owner)'],
  ];
  for (const [name, volumes] of table) await w.pod(name, volumes);
  await w.settle();
  for (const [name, , problem] of table) {
    assert.deepEqual(
      (await w.eventsOn(name)).filter((event) => event.startsWith('FailedScheduling')),
      [`FailedScheduling: 0/3 nodes are available: ${problem}.`],
      name,
    );
  }
  await w.boundClaim('nothing');
  await w.settle();
  assert.notEqual(await w.nodeOf('a'), undefined, 'woken by its claim');
});

test('a pod whose claim is bound a moment later is not reported as stuck', async (t) => {
  const w = await threeZones(t);
  await w.pod('p', ['data']);
  await w.clock.advance(300);
  await w.boundClaim('data');
  await w.settle();
  assert.notEqual(await w.nodeOf('p'), undefined);
  assert.deepEqual(
    (await w.eventsOn('p')).filter((event) => event.startsWith('FailedScheduling')),
    [],
  );
});

test('attach limits count what is on a node once, also what is only attached to it', async (t) => {
  const w = await schedulerWorld(t);
  await w.startScheduler();
  await w.startBinder();
  await w.node('n');
  await w.csiNode('n', { allocatable: { count: 2 } });
  for (const name of ['one', 'two', 'stray']) await w.boundClaim(name);
  await w.make(
    w.kube.create(volumeAttachments, {
      metadata: { name: 'left-over' },
      spec: { attacher: DRIVER, nodeName: 'n', source: { persistentVolumeName: 'stray' } },
    }),
  );
  await w.pod('first', ['one']);
  await w.settle();
  await w.pod('same-volume', ['one']);
  await w.pod('too-much', ['two']);
  await w.settle();
  assert.equal(await w.nodeOf('first'), 'n');
  assert.equal(await w.nodeOf('same-volume'), 'n');
  assert.equal(await w.nodeOf('too-much'), undefined);
  assert(
    (await w.eventsOn('too-much')).includes(
      'FailedScheduling: 0/1 nodes are available: 1 node(s) exceed max volume count.',
    ),
  );
  await w.make(w.kube.delete(volumeAttachments, { name: 'left-over' }));
  await w.settle();
  assert.equal(await w.nodeOf('too-much'), 'n', 'woken when the volume went');
});

test('attach limits hold for pods that come at the same instant', async (t) => {
  const w = await schedulerWorld(t);
  await w.startBinder();
  await w.node('n');
  await w.csiNode('n', { allocatable: { count: 3 } });
  for (let i = 0; i < 6; i++) await w.boundClaim(`v${i}`);
  for (let i = 0; i < 6; i++) await w.pod(`p${i}`, [`v${i}`]);
  await w.settle();
  await w.startScheduler();
  await w.settle();
  const { items } = await w.make(w.kube.list(pods));
  assert.equal(items.filter(({ spec }) => spec.nodeName).length, 3);
});

test('a claim for one pod only is not given to a second one until the first is gone', async (t) => {
  const w = await threeZones(t);
  await w.boundClaim('data', { accessModes: ['ReadWriteOncePod'] });
  await w.pod('p', ['data']);
  await w.settle();
  await w.pod('q', ['data']);
  await w.settle();
  assert.equal(await w.nodeOf('q'), undefined);
  assert(
    (await w.eventsOn('q')).includes(
      'FailedScheduling: 0/3 nodes are available: 3 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.',
    ),
  );
  await w.removePod('p');
  await w.settle();
  assert.notEqual(await w.nodeOf('q'), undefined);
});

test('a pod of higher priority preempts the one that has its claim, and follows it on its node', async (t) => {
  const w = await threeZones(t);
  await w.boundClaim('data', { accessModes: ['ReadWriteOncePod'] });
  for (const [name, value] of Object.entries({ one: 1, two: 2 })) {
    await w.make(w.kube.create(priorityClasses, { metadata: { name }, value }));
  }
  await w.pod('low', ['data'], { priorityClassName: 'one' });
  await w.settle();
  const where = await w.nodeOf('low');
  await w.pod('same', ['data'], { priorityClassName: 'one' });
  await w.settle();
  assert.equal((await w.readPod('low')).metadata.deletionTimestamp, undefined, 'not for its equal');
  await w.pod('high', ['data'], { priorityClassName: 'two' });
  await w.settle();
  const { uid } = (await w.readPod('high')).metadata;
  assert((await w.eventsOn('low')).includes(`Preempted: Preempted by pod ${uid} on node ${where}`));
  assert.notEqual((await w.readPod('low')).metadata.deletionTimestamp, undefined);
  assert.equal((await w.readPod('high')).status?.nominatedNodeName, where);
  await w.removePod('low');
  await w.settle();
  assert.equal(await w.nodeOf('high'), where);
  assert.equal(await w.nodeOf('same'), undefined);
  await w.removePod('high');
  await w.settle();
  assert.notEqual(await w.nodeOf('same'), undefined);
});

test('requests, taints, selectors and cordons are respected, and the message counts each reason', async (t) => {
  const w = await schedulerWorld(t);
  await w.startScheduler();
  const room = { allocatable: { cpu: '2', memory: '2Gi', pods: '10' } };
  await w.node('full', {
    labels: { disk: 'ssd' },
    status: { allocatable: { cpu: '1', memory: '1Gi', pods: '10' } },
  });
  await w.node('tainted', {
    labels: { disk: 'ssd' },
    status: room,
    spec: { taints: [{ key: 'team', value: 'x', effect: 'NoSchedule' }] },
  });
  await w.node('cordoned', { labels: { disk: 'ssd' }, status: room, spec: { unschedulable: true } });
  await w.node('slow', { labels: { disk: 'hdd' }, status: room });
  await w.node('down', {
    labels: { disk: 'ssd' },
    status: { ...room, conditions: [{ type: 'Ready', status: 'Unknown' }] },
  });
  const spec = {
    nodeSelector: { disk: 'ssd' },
    containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1500m', memory: '1Gi' } } }],
  };
  await w.pod('p', [], spec);
  await w.settle();
  assert(
    (await w.eventsOn('p')).includes(
      "FailedScheduling: 0/5 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, " +
        '1 node(s) had untolerated taint(s), 1 node(s) were not ready, 1 node(s) were unschedulable.',
    ),
  );
  await w.pod('tolerant', [], { ...spec, tolerations: [{ key: 'team', operator: 'Exists' }] });
  await w.settle();
  assert.equal(await w.nodeOf('tolerant'), 'tainted');
  await w.make(
    w.kube.patch(nodes, { name: 'cordoned' }, { spec: { unschedulable: false } }, { type: 'merge' }),
  );
  await w.settle();
  assert.equal(await w.nodeOf('p'), 'cordoned', 'woken by the node');
});

test('concurrent pods never exceed a node’s capacity, and the rest follow as it is freed', async (t) => {
  const w = await schedulerWorld(t);
  for (const name of ['n1', 'n2']) {
    await w.node(name, { status: { allocatable: { cpu: '2', memory: '1Gi', pods: '10' } } });
  }
  const spec = { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] };
  for (let i = 0; i < 5; i++) await w.pod(`p${i}`, [], spec);
  await w.startScheduler();
  await w.settle();
  const counts = async () => {
    const { items } = await w.make(w.kube.list(pods));
    const on = (name: string) => items.filter(({ spec: { nodeName } }) => nodeName === name).length;
    return [on('n1'), on('n2')];
  };
  assert.deepEqual(await counts(), [2, 2]);
  const { items } = await w.make(w.kube.list(pods));
  await w.removePod(items.find(({ spec: { nodeName } }) => nodeName === 'n1')?.metadata.name ?? '');
  await w.settle();
  assert.deepEqual(await counts(), [2, 2]);
});

test('a restart between the choice of a node and the binding goes on with that node', async (t) => {
  const w = await schedulerWorld(t);
  const first = await w.startScheduler();
  await w.startBinder();
  await w.storageClass('late');
  for (const name of ['n1', 'n2', 'n3']) await w.node(name);
  await w.claim('data');
  await w.pod('p', ['data']);
  await w.settle();
  const chosen = selectedNodeOf(await w.readClaim('data'));
  assert.notEqual(chosen, undefined);
  await first.stop();
  await w.provision('data');
  await w.settle();
  assert.equal(await w.nodeOf('p'), undefined);
  await w.startScheduler();
  await w.settle();
  assert.notEqual(await w.nodeOf('p'), undefined);
});

test('pods of other schedulers, gated pods and pods that ask for what is not supported are left alone', async (t) => {
  const w = await threeZones(t);
  await w.pod('other', [], { schedulerName: 'mine' });
  await w.pod('gated', [], { schedulingGates: [{ name: 'a/b' }] } as object);
  await w.pod('spread', [], {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
  });
  await w.settle();
  for (const name of ['other', 'gated', 'spread']) assert.equal(await w.nodeOf(name), undefined, name);
  assert.deepEqual(await w.eventsOn('other'), []);
  assert.deepEqual(await w.eventsOn('gated'), []);
  assert.match((await w.eventsOn('spread')).join(), /does not support/);
});

test('no nodes at all', async (t) => {
  const w = await schedulerWorld(t);
  await w.startScheduler();
  await w.pod('p');
  await w.settle();
  assert.deepEqual(await w.eventsOn('p'), ['FailedScheduling: no nodes available to schedule pods']);
  await w.node('n');
  await w.settle();
  assert.equal(await w.nodeOf('p'), 'n');
  assert.match(await w.metrics.text(), /scheduler_schedule_attempts_total\{result="scheduled"[^}]*\} 1/);
});

test('a node that goes while a pod waits for its volume there', async (t) => {
  const w = await threeZones(t);
  await w.storageClass('late', allowed('a', 'b'));
  await w.claim('data');
  await w.pod('p', ['data']);
  await w.settle();
  const first = selectedNodeOf(await w.readClaim('data')) ?? '';
  await w.make(w.kube.delete(nodes, { name: first }));
  await w.make(w.kube.delete(csiNodes, { name: first }));
  await w.settle();
  assert((await w.eventsOn('p')).some((event) => event.startsWith('FailedScheduling: 0/2')));
  await w.giveUp('data');
  await w.clock.advance(20_000);
  const second = selectedNodeOf(await w.readClaim('data'));
  assert(second !== undefined && second !== first);
});

test('nothing is written after shutdown', async (t) => {
  const w = await schedulerWorld(t);
  const scheduler = await w.startScheduler();
  await w.node('n');
  await scheduler.stop();
  await w.pod('p');
  await w.clock.advance(60_000);
  assert.equal(await w.nodeOf('p'), undefined);
  assert.deepEqual(await w.eventsOn('p'), []);
});
