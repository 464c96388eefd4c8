import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSIStorageCapacity, KubeObject, Resource } from '../../../api/index.ts';
import { parseDriverName } from '../../../csi/names/driver-name.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import { capacityObject, placeOf, withCapacity } from './capacity-object.ts';
import { findOwner } from './find-owner.ts';

const owner = {
  driver: parseDriverName('d.example'),
  managedBy: 'external',
  namespace: 'ns',
  reference: undefined,
};
const place = { className: 'fast', segment: { zone: 'a' } };
const room = { availableCapacity: 1n << 30n, maximumVolumeSize: undefined };
const reference = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true };
const object = (change: object = {}) =>
  ({ ...capacityObject(place, room, owner), ...change }) as unknown as CSIStorageCapacity;

test('a capacity has one name per class, segment, driver and instance', () => {
  const name = (change: object = {}, of: object = {}) =>
    capacityObject({ ...place, ...change }, room, { ...owner, ...of }).metadata.name;
  assert.equal(name(), name({ segment: { zone: 'a' } }));
  const others = [
    name({ className: 'slow' }),
    name({ segment: { zone: 'b' } }),
    name({}, { driver: parseDriverName('e.example') }),
    name({}, { managedBy: 'node-1' }),
  ];
  assert.equal(new Set([name(), ...others]).size, 5);
});

test('a capacity says how much there is, and of whom it is', () => {
  const made = capacityObject(place, { ...room, maximumVolumeSize: 1n << 20n }, { ...owner, reference });
  assert.deepEqual([made.capacity, made.maximumVolumeSize], ['1Gi', '1Mi']);
  assert.deepEqual(made.metadata.ownerReferences, [reference]);
  assert.deepEqual(made.nodeTopology, { matchLabels: { zone: 'a' } });
  const bare = capacityObject(place, room, owner);
  assert.equal('maximumVolumeSize' in bare, false);
  assert.equal('ownerReferences' in bare.metadata, false);
});

test('the place of a capacity is read back, where a provisioner wrote it', () => {
  assert.deepEqual(placeOf(object()), place);
  assert.deepEqual(placeOf(object({ nodeTopology: {} })), { className: 'fast', segment: {} });
  assert.equal(placeOf(object({ nodeTopology: undefined })), undefined);
  const matchExpressions = [{ key: 'zone', operator: 'Exists' }];
  assert.equal(placeOf(object({ nodeTopology: { matchExpressions } })), undefined);
});

test('a capacity is written again when its amounts or its owner have changed', () => {
  const next = (given: CSIStorageCapacity, free: object = {}, by: typeof reference | undefined = undefined) =>
    withCapacity(given, { ...room, ...free }, { ...owner, reference: by });
  const right = object({ capacity: '1024Mi' });
  assert.equal(next(right), right);
  assert.equal(next(object({ capacity: '2Gi' })).capacity, '1Gi');
  const limited = object({ maximumVolumeSize: '1Gi' });
  assert.equal('maximumVolumeSize' in next(limited), false);
  assert.equal(next(limited, { maximumVolumeSize: 1n << 30n }), limited);
  assert.equal(next(right, { maximumVolumeSize: 1n << 20n }).maximumVolumeSize, '1Mi');
  const owned = (uid: string) => object({ metadata: { ownerReferences: [{ ...reference, uid }] } });
  const ours = owned('u');
  assert.equal(next(ours, {}, reference), ours);
  const uids = (given: CSIStorageCapacity) => given.metadata.ownerReferences?.map(({ uid }) => uid);
  assert.deepEqual(uids(next(owned('v'), {}, reference)), ['v', 'u']);
  assert.deepEqual(uids(next(right, {}, reference)), ['u']);
  assert.deepEqual(uids(next(object({ ...ours, capacity: '5' }), {}, reference)), ['u']);
});

/** A pod of a ReplicaSet of a Deployment, as the API server has them; the Deployment may not be read. */
const controlledBy = (kind: string, name: string) => [
  { apiVersion: 'v1', kind: 'ConfigMap', name: 'friend', uid: 'friend' },
  { apiVersion: 'apps/v1', kind, name, uid: `uid-${name}`, controller: true },
];
const known: Record<string, KubeObject> = {
  'pods/p': {
    kind: 'Pod',
    metadata: { name: 'p', uid: 'uid-p', ownerReferences: controlledBy('ReplicaSet', 'rs') },
  } as never,
  'replicasets/rs': {
    kind: 'ReplicaSet',
    metadata: { name: 'rs', uid: 'uid-rs', ownerReferences: controlledBy('Deployment', 'd') },
  } as never,
  'pods/alone': { kind: 'Pod', metadata: { name: 'alone', uid: 'uid-alone' } } as never,
  'pods/odd': {
    kind: 'Pod',
    metadata: { name: 'odd', uid: 'uid-odd', ownerReferences: controlledBy('Robot', 'r') },
  } as never,
};
const kube = {
  async get(resource: Resource, { name }: { name: string }) {
    const found = known[`${resource.plural}/${name}`];
    if (!found)
      throw new KubeError({ code: 403, reason: 'Forbidden', message: `${resource.plural}/${name}` });
    return found;
  },
} as unknown as KubeClient;

test('the owner of capacities is the pod, its controller, or the controller of that', async () => {
  const find = (levels: number, name = 'p') =>
    findOwner(kube, { name, namespace: 'ns' }, levels, new AbortController().signal);
  const owned = (apiVersion: string, kind: string, name: string) => ({
    apiVersion,
    kind,
    name,
    uid: `uid-${name}`,
    controller: true,
  });
  assert.deepEqual(await find(0), owned('v1', 'Pod', 'p'));
  assert.deepEqual(await find(1), owned('apps/v1', 'ReplicaSet', 'rs'));
  assert.deepEqual(await find(2), owned('apps/v1', 'Deployment', 'd'));
  await assert.rejects(find(3), /deployments\/d/);
  await assert.rejects(find(1, 'alone'), /ownerref-level=1 is too high: nothing controls Pod alone/);
  assert.deepEqual(await find(1, 'odd'), owned('apps/v1', 'Robot', 'r'));
  await assert.rejects(find(2, 'odd'), /cannot look up the owner of a Robot/);
});
