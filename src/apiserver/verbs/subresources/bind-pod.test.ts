import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { configMaps, pods } from '../../../api/kinds.ts';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import { testServer } from '../../testing/test-server.ts';

const name = { name: 'p', namespace: 'default' };

async function world(t: TestContext, pod: { metadata?: object; spec?: object } = {}) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const made = await kube.create(pods, {
    metadata: { ...name, ...pod.metadata },
    spec: { containers: [{ name: 'c', image: 'i' }], ...pod.spec },
  });
  const bind = (change: object = {}) =>
    kube.createSubresource(pods, name, 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'p' },
      target: { kind: 'Node', name: 'n' },
      ...change,
    });
  return { kube, made, bind, read: () => kube.get(pods, name) };
}

test('a binding places the pod, with its annotations, and says since when', async (t) => {
  const { kube, made, bind, read } = await world(t, { metadata: { annotations: { a: '1', b: '1' } } });
  const conditions = [
    { type: 'PodScheduled', status: 'False' },
    { type: 'Ready', status: 'False' },
  ];
  await kube.patch(pods, name, { status: { conditions } }, { type: 'merge', subresource: 'status' });
  const { uid } = made.metadata;
  await bind({ kind: '', metadata: { name: 'p', uid, annotations: { b: '2', c: '2' } } });
  const { metadata, spec, status } = await read();
  assert.equal(spec.nodeName, 'n');
  assert.deepEqual(metadata.annotations, { a: '1', b: '2', c: '2' });
  assert.deepEqual(
    status?.conditions?.map(({ type, status: value }) => `${type} ${value}`),
    ['Ready False', 'PodScheduled True'],
  );
  assert.ok(status.conditions?.at(-1)?.lastTransitionTime);
});

const gates = { schedulingGates: [{ name: 'example.com/gate' }] };
const refused: [name: string, code: number, says: RegExp, change: object, pod?: object][] = [
  ['another UID', 409, /UID in precondition/, { metadata: { name: 'p', uid: 'other' } }],
  ['another name', 400, /name in URL does not match/, { metadata: { name: 'q' } }],
  ['no name', 400, /name in URL does not match/, { metadata: undefined }],
  ['another kind', 400, /cannot be handled as a Binding/, { kind: 'Pod' }],
  ['no target', 422, /target.name: Required/, { target: undefined }],
  ['no node', 422, /target.name: Required/, { target: { name: '' } }],
  ['a pod that is gated', 409, /schedulingGates/, {}, { spec: gates }],
  ['a pod that has its node', 409, /already assigned to node "m"/, {}, { spec: { nodeName: 'm' } }],
];
for (const [what, code, says, change, pod] of refused) {
  test(`a binding is refused: ${what}`, async (t) => {
    const { bind, read } = await world(t, pod);
    await assert.rejects(bind(change), (error) => {
      assert.ok(error instanceof KubeError);
      assert.equal(error.code, code);
      assert.match(error.message, says);
      return true;
    });
    assert.notEqual((await read()).spec.nodeName, 'n');
  });
}

test('a binding is refused for a pod that is being deleted, and for none', async (t) => {
  const { kube, bind } = await world(t, { metadata: { finalizers: ['example.com/kept'] } });
  await kube.delete(pods, name, { gracePeriodSeconds: 0 });
  await assert.rejects(bind(), /is being deleted, cannot be assigned/);
  await kube.patch(pods, name, { metadata: { finalizers: null } }, { type: 'merge' });
  await assert.rejects(bind(), (error) => error instanceof KubeError && error.code === 404);
});

test('a generated name fits a label, and one that is given wins', async (t) => {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const create = (metadata: object) =>
    kube.create(configMaps, { metadata: { namespace: 'default', ...(metadata as { name: string }) } });
  const generated = await create({ generateName: 'g'.repeat(70) });
  assert.match(generated.metadata.name, /^g{58}[a-z0-9]{5}$/);
  assert.equal((await create({ generateName: 'g-', name: 'given' })).metadata.name, 'given');
  await assert.rejects(create({ name: 'x', resourceVersion: '5' }), /resourceVersion should not be set/);
  assert.equal((await create({ name: 'y', resourceVersion: '0' })).metadata.name, 'y');
});
