import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject, OwnerReference, Resource } from '../../api/object.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import type { KubeClient, ServedResource } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { FINALIZER_FOREGROUND } from './decide-dependent.ts';
import { type GraphObject, graphKey, ObjectGraph } from './object-graph.ts';
import { OwnerLookup } from './owner-lookup.ts';

const verbs = ['list', 'watch', 'delete'];
const served = (kind: string, change: Partial<ServedResource> = {}): ServedResource => ({
  group: 'test.example',
  version: 'v1',
  plural: `${kind.toLowerCase()}s`,
  kind,
  namespaced: true,
  verbs,
  ...change,
});
const sets = served('Set');
const zones = served('Zone', { namespaced: false });
const parts = served('Part', { group: '' });

const object = (name: string, metadata: object = {}) =>
  ({ metadata: { name, namespace: 'ns', uid: `uid-${name}`, ...metadata } }) as unknown as KubeObject;
const cluster = (name: string) => ({ metadata: { name, uid: `uid-${name}` } }) as unknown as KubeObject;
const waiting = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [FINALIZER_FOREGROUND] };
const reference = (change: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'test.example/v1',
  kind: 'Set',
  name: 'owner',
  uid: 'uid-owner',
  ...change,
});
const dependent: GraphObject = { resource: parts, object: object('part') };
const clusterDependent: GraphObject = { resource: zones, object: cluster('zone') };
const never = new AbortController().signal;

async function world({
  live = [] as KubeObject[],
  resources = [sets, zones, parts],
  unknown = [] as string[],
} = {}) {
  const informers = manualInformers();
  const seen: string[] = [];
  const listener = {
    changed: (before: GraphObject | undefined, after: GraphObject) =>
      void seen.push(`${before ? 'changed' : 'added'} ${graphKey(after)}`),
    deleted: (last: GraphObject) => void seen.push(`deleted ${graphKey(last)}`),
  };
  const answer = { resources, unknown };
  const graph = new ObjectGraph({ informers, discovery: { servedResources: async () => answer }, listener });
  const reads: string[] = [];
  const kube = {
    async get(resource: Resource, { name, namespace }: { name: string; namespace?: string }) {
      reads.push([resource.plural, namespace, name].join('/'));
      const found = live.find(
        ({ kind = resource.kind, metadata }) =>
          kind === resource.kind && metadata.name === name && metadata.namespace === namespace,
      );
      if (!found) throw new KubeError({ code: 404, reason: 'NotFound', message: 'not found' } as never);
      return found;
    },
  } as unknown as KubeClient;
  await graph.refresh(never);
  const put = (resource: Resource, after: KubeObject) => informers.change(resource, undefined, after);
  return { graph, lookup: new OwnerLookup({ kube, graph }), put, informers, seen, reads, answer };
}

const cached: [string, Resource, KubeObject, Partial<OwnerReference>, string | undefined][] = [
  ['an owner in the cache', sets, object('owner'), {}, 'present'],
  [
    'an owner that is named in another version',
    sets,
    object('owner'),
    { apiVersion: 'test.example/v2' },
    'present',
  ],
  ['an owner that waits for its dependents', sets, object('owner', waiting), {}, 'waiting'],
  ['an owner of the whole cluster', zones, cluster('owner'), { kind: 'Zone' }, 'present'],
  ['an owner of the core group', parts, object('owner'), { apiVersion: 'v1', kind: 'Part' }, 'present'],
  ['another UID', sets, object('owner', { uid: 'x' }), {}, undefined],
  ['an owner of another namespace', sets, object('owner', { namespace: 'other' }), {}, undefined],
  ['an owner of another name', sets, object('owner'), { name: 'x' }, undefined],
  ['an owner of another kind', sets, object('owner'), { kind: 'Zone' }, undefined],
  ['an owner of another group', sets, object('owner'), { apiVersion: 'x/v1' }, undefined],
];
for (const [name, resource, owner, change, expected] of cached)
  test(`the caches tell of ${name}: ${expected ?? 'nothing'}`, async () => {
    const { lookup, put, reads } = await world();
    put(resource, owner);
    assert.equal(lookup.cachedState(reference(change), dependent), expected);
    assert.deepEqual(reads, []);
  });

const asked: [string, KubeObject[], Partial<OwnerReference>, GraphObject, string, string[]][] = [
  ['an owner', [object('owner')], {}, dependent, 'present', ['sets/ns/owner']],
  ['one that waits', [object('owner', waiting)], {}, dependent, 'waiting', ['sets/ns/owner']],
  ['no owner', [], {}, dependent, 'absent', ['sets/ns/owner']],
  ['another of its name', [object('owner', { uid: 'x' })], {}, dependent, 'absent', ['sets/ns/owner']],
  ['one of the cluster', [cluster('owner')], { kind: 'Zone' }, dependent, 'present', ['zones//owner']],
  ['a kind that is not served', [], { kind: 'X' }, dependent, 'unknown', []],
  ['a namespaced owner of a cluster’s object', [], {}, clusterDependent, 'unknown', []],
  [
    'a cluster’s owner of one',
    [cluster('owner')],
    { kind: 'Zone' },
    clusterDependent,
    'present',
    ['zones//owner'],
  ],
];
for (const [name, live, change, of, expected, reads] of asked)
  test(`the server tells of ${name}: ${expected}`, async () => {
    const made = await world({ live });
    assert.equal(await made.lookup.liveState(reference(change), of, never), expected);
    assert.deepEqual(made.reads, reads);
  });

test('a thousand dependents of an owner that is gone cost one request, and one more in another namespace', async () => {
  const { lookup, reads } = await world();
  const elsewhere = { resource: parts, object: object('part', { namespace: 'other' }) };
  for (let i = 0; i < 3; i++) {
    assert.equal(await lookup.liveState(reference(), dependent, never), 'absent');
    assert.equal(await lookup.liveState(reference(), elsewhere, never), 'absent');
  }
  assert.deepEqual(reads, ['sets/ns/owner', 'sets/other/owner']);
});

const wrong: [string, Partial<OwnerReference>][] = [
  ['name', { name: 'x' }],
  ['kind', { apiVersion: 'v1', kind: 'Part' }],
];
for (const [what, change] of wrong)
  test(`a reference with the wrong ${what} does not make an owner absent for those that name it rightly`, async () => {
    const { lookup } = await world({ live: [{ ...object('owner'), kind: 'Set' }] });
    assert.equal(await lookup.liveState(reference(change), dependent, never), 'absent');
    assert.equal(await lookup.liveState(reference(), dependent, never), 'present');
  });

test('an owner that is there is asked for each time', async () => {
  const { lookup, reads } = await world({ live: [object('owner')] });
  for (let i = 0; i < 2; i++) await lookup.liveState(reference(), dependent, never);
  assert.equal(reads.length, 2);
});

test('only a namespaced owner of a cluster’s object is invalid', async () => {
  const { lookup } = await world();
  const isInvalid = (change: Partial<OwnerReference>, of: GraphObject) =>
    lookup.isInvalid(reference(change), of);
  assert.equal(isInvalid({}, clusterDependent), true);
  assert.equal(isInvalid({}, dependent), false);
  assert.equal(isInvalid({ kind: 'Zone' }, clusterDependent), false);
  assert.equal(isInvalid({ kind: 'X' }, clusterDependent), false, 'a kind that is not served');
});

const uncollected: [string, ServedResource, boolean][] = [
  ['a kind that can be listed, watched and deleted', sets, true],
  ['a kind that cannot be deleted', served('Set', { verbs: ['list', 'watch'] }), false],
  ['a kind that cannot be watched', served('Set', { verbs: ['list', 'delete'] }), false],
  ['events', served('Set', { plural: 'events', group: '' }), false],
  ['events of their own group', served('Set', { plural: 'events', group: 'events.k8s.io' }), false],
  ['events of another group', served('Set', { plural: 'events' }), true],
];
for (const [name, resource, isFollowed] of uncollected)
  test(`${name}: ${isFollowed ? 'followed' : 'not followed'}`, async () => {
    const { graph, put } = await world({ resources: [resource] });
    put(resource, object('owner'));
    assert.equal(graph.findByUid('uid-owner') !== undefined, isFollowed);
  });

const failed: [string, string[], boolean][] = [
  ['a kind that is not served any more is forgotten', [], false],
  ['a kind whose group could not be described is kept', ['test.example/v1'], true],
  ['a failure of another group keeps nothing', ['x/v1'], false],
  ['a failure of another version keeps nothing', ['test.example/v2'], false],
];
for (const [name, unknown, isKept] of failed)
  test(name, async () => {
    const { graph, put, answer } = await world();
    put(sets, object('owner'));
    answer.resources = [parts];
    answer.unknown = unknown;
    assert.deepEqual(await graph.refresh(never), unknown);
    assert.equal(graph.findByUid('uid-owner') !== undefined, isKept);
    assert.equal(graph.resourceOf(reference()) !== undefined, isKept);
    assert.equal(graph.find('sets.test.example ns/owner') !== undefined, isKept);
  });

test('a group that answers again is taken as it is now', async () => {
  const { graph, answer } = await world();
  answer.resources = [served('Set', { version: 'v2' })];
  answer.unknown = ['test.example/v1'];
  await graph.refresh(never);
  assert.equal(graph.resourceOf(reference())?.version, 'v2');
});

test('each kind is followed once, and an object is found by its key, its UID and its owners', async () => {
  const { graph, put, informers, seen } = await world();
  await graph.refresh(never);
  put(sets, object('owner'));
  const part = object('part', { ownerReferences: [reference(), reference({ uid: 'uid-b' })] });
  put(parts, part);
  const moved = object('part', { ownerReferences: [reference()] });
  informers.change(parts, part, moved);
  const key = 'parts. ns/part';
  assert.deepEqual(seen, ['added sets.test.example ns/owner', `added ${key}`, `changed ${key}`]);
  assert.deepEqual(graph.find(key), { resource: parts, object: moved });
  assert.deepEqual(graph.dependentsOf('uid-owner'), [{ resource: parts, object: moved }]);
  assert.deepEqual(graph.dependentsOf('uid-b'), []);
  assert.equal(graph.find('sets. ns/part'), undefined);
  assert.equal(graph.find('parts. ns/x'), undefined);
  informers.change(parts, moved, undefined);
  assert.deepEqual([seen.at(-1), graph.find(key)], [`deleted ${key}`, undefined]);
});
