import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type ConfigMap, configMaps } from '../../api/kinds.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { addFinalizer, releaseFinalizer, removeFinalizer, renewFinalizer } from './finalizers.ts';
import { isConflict, isNotFound } from './kube-error.ts';

const OURS = 'example.com/ours';
const target = { namespace: 'default', name: 'm' };

async function world(t: TestContext, finalizers?: string[]) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const object = await kube.create(configMaps, {
    metadata: { ...target, ...(finalizers && { finalizers }) },
  });
  const now = async () => (await kube.get(configMaps, target)).metadata.finalizers;
  const request = (given: ConfigMap = object) => ({
    kube,
    resource: configMaps,
    object: given,
    finalizer: OURS,
  });
  const set = (list: string[] | null) =>
    kube.patch(configMaps, target, { metadata: { finalizers: list } }, { type: 'merge' });
  return { kube, object, now, request, set };
}

const cases: {
  name: string;
  before?: string[];
  meanwhile?: string[] | null;
  added: string[];
  removed?: string[];
}[] = [
  { name: 'none yet', added: [OURS] },
  { name: 'others', before: ['a/b', 'c/d'], added: ['a/b', 'c/d', OURS], removed: ['a/b', 'c/d'] },
  { name: 'there already', before: ['a/b', OURS], added: ['a/b', OURS], removed: ['a/b'] },
  {
    name: 'another came meanwhile',
    before: ['a/b'],
    meanwhile: ['a/b', 'c/d'],
    added: ['a/b', 'c/d', OURS],
    removed: ['a/b', 'c/d'],
  },
  {
    name: 'another went meanwhile',
    before: ['a/b', 'c/d'],
    meanwhile: ['c/d'],
    added: ['c/d', OURS],
    removed: ['c/d'],
  },
  { name: 'all went meanwhile', before: ['a/b'], meanwhile: null, added: [OURS] },
  {
    name: 'ours came meanwhile',
    before: ['a/b'],
    meanwhile: ['a/b', OURS],
    added: ['a/b', OURS],
    removed: ['a/b'],
  },
];
for (const { name, before, meanwhile, added, removed } of cases) {
  test(`a finalizer is added once and removed alone: ${name}`, async (t) => {
    const { kube, now, request, set } = await world(t, before);
    if (meanwhile !== undefined) await set(meanwhile);
    const written = await addFinalizer(request());
    assert.deepEqual(written.metadata.finalizers, added);
    assert.deepEqual(await now(), added);
    const again = await addFinalizer(request(await kube.get(configMaps, target)));
    assert.deepEqual(again.metadata.finalizers, added);
    // From the object as it was at first, which is now behind.
    await removeFinalizer(request(written));
    assert.deepEqual((await now()) ?? undefined, removed);
  });
}

test('another object of the same name is not touched', async (t) => {
  const { kube, object, now, request } = await world(t);
  await kube.delete(configMaps, target);
  await kube.create(configMaps, { metadata: { ...target, finalizers: [OURS] } });
  await assert.rejects(addFinalizer({ ...request(), finalizer: 'example.com/other' }), isNotFound);
  const withOurs = { ...object, metadata: { ...object.metadata, finalizers: [OURS] } };
  assert.equal(await removeFinalizer(request(withOurs)), undefined);
  assert.deepEqual(await now(), [OURS]);
});

test('an object that is gone needs no removal, and takes no finalizer', async (t) => {
  const { kube, object, request } = await world(t);
  await kube.delete(configMaps, target);
  const withOurs = { ...object, metadata: { ...object.metadata, finalizers: [OURS] } };
  assert.equal(await removeFinalizer(request(withOurs)), undefined);
  await assert.rejects(addFinalizer(request()), isNotFound);
});

for (const [name, before, renewed] of [
  ['the last one', ['a/b', OURS], [OURS, 'a/b']],
  ['not the last one', [OURS, 'a/b'], ['a/b', OURS]],
] as const)
  test(`a removal that arrives after somebody came to rely on the finalizer changes nothing: ${name}`, async (t) => {
    const { kube, now, request } = await world(t, [...before]);
    await renewFinalizer(request());
    assert.deepEqual(await now(), renewed);
    await assert.rejects(releaseFinalizer(request()), isConflict);
    assert.deepEqual(await now(), renewed);
    const left = await releaseFinalizer(request(await kube.get(configMaps, target)));
    assert.deepEqual(left?.metadata.finalizers, ['a/b']);
  });

test('a removal that arrives after another one and a new finalizer changes nothing', async (t) => {
  const { now, object, request } = await world(t, ['a/b', OURS]);
  const without = await releaseFinalizer(request());
  await renewFinalizer(request(without));
  assert.deepEqual(await now(), object.metadata.finalizers, 'the list is as it was decided on');
  await assert.rejects(releaseFinalizer(request()), isConflict);
  assert.deepEqual(await now(), ['a/b', OURS]);
});
