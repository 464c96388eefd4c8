import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import type { Kind } from '../kind.ts';
import { writeRulesOf } from '../kinds/write-rules.ts';
import { validateMetadata } from './metadata.ts';

type Body = Record<string, unknown>;
const kinds = {
  pod: { group: '', kind: 'Pod', namespaced: true },
  node: { group: '', kind: 'Node', namespaced: false },
  namespace: { group: '', kind: 'Namespace', namespaced: false },
  service: { group: '', kind: 'Service', namespaced: true },
  event: { group: '', kind: 'Event', namespaced: true },
  newEvent: { group: 'events.k8s.io', kind: 'Event', namespaced: true },
  role: { group: 'rbac.authorization.k8s.io', kind: 'ClusterRole', namespaced: false },
  foreignRole: { group: 'example.com', kind: 'ClusterRole', namespaced: false },
  driver: { group: 'storage.k8s.io', kind: 'CSIDriver', namespaced: false },
} as unknown as Record<string, Kind>;
for (const kind of Object.values(kinds)) {
  (kind as { writes: Kind['writes'] }).writes = writeRulesOf({ group: kind.group, plural: '' });
}
const of = (metadata: Body) => ({ metadata }) as unknown as KubeObject;
const fields = (object: Body, kind: string, current?: Body) =>
  validateMetadata(of(object), kinds[kind] as Kind, current && of(current)).map(({ field }) => field);

const names: [name: string, kind: string, isGood: boolean][] = [
  ['web-1.a', 'pod', true],
  ['Web', 'pod', false],
  ['web:1', 'pod', false],
  ['a.b', 'node', true],
  ['a.b', 'namespace', false],
  ['1a', 'namespace', true],
  ['1a', 'service', false],
  ['a1', 'service', true],
  ['system:node', 'role', true],
  ['a/b', 'role', false],
  ['system:node', 'foreignRole', false],
  ['D.Example', 'driver', false],
  ['d_example', 'driver', false],
  // Named after a role, or by an older client.
  ['system:node.17ab', 'event', true],
  ['a/b', 'event', false],
  ['system:node.17ab', 'newEvent', false],
];
for (const [name, kind, isGood] of names) {
  test(`the name ${name} of ${kinds[kind]?.kind} in group "${kinds[kind]?.group}": ${isGood ? 'good' : 'refused'}`, () => {
    const namespace = kinds[kind]?.namespaced ? { namespace: 'ns' } : {};
    assert.deepEqual(fields({ name, ...namespace }, kind), isGood ? [] : ['metadata.name']);
  });
}

const big = 'x'.repeat(256 * 1024);
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' };
const created: [string, Body, string[]][] = [
  ['no name', { name: '' }, ['metadata.name']],
  ['a generated name', { name: 'web-x', generateName: 'web-' }, []],
  ['a generated name that is none', { name: 'web-x', generateName: 'Web-' }, ['metadata.generateName']],
  ['no namespace', { namespace: '' }, ['metadata.namespace']],
  ['a namespace that is none', { namespace: 'a.b' }, ['metadata.namespace']],
  ['labels', { labels: { 'example.com/a': 'b', c: '' } }, []],
  ['a label key that is none', { labels: { 'a b': 'c' } }, ['metadata.labels']],
  ['a label value that is none', { labels: { a: 'b c' } }, ['metadata.labels']],
  ['annotations in capitals', { annotations: { 'Example.com/A': 'any text' } }, []],
  ['an annotation key that is none', { annotations: { 'a b': 'c' } }, ['metadata.annotations']],
  ['annotations as large as they may be', { annotations: { a: big.slice(1) } }, []],
  ['annotations that are too large', { annotations: { a: big } }, ['metadata.annotations']],
  ['an owner', { ownerReferences: [owner] }, []],
  [
    'an owner that is nobody',
    { ownerReferences: [{}] },
    ['apiVersion', 'kind', 'name', 'uid'].map((field) => `metadata.ownerReferences.${field}`),
  ],
  ['one controller', { ownerReferences: [{ ...owner, controller: true }, owner] }, []],
  [
    'two controllers',
    {
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, controller: true },
      ],
    },
    ['metadata.ownerReferences'],
  ],
  ['finalizers', { finalizers: ['example.com/hold', 'orphan', 'foregroundDeletion', 'kubernetes'] }, []],
  ['a finalizer of nobody', { finalizers: ['example.com/hold', 'hold'] }, ['metadata.finalizers[1]']],
  ['a finalizer that is no name', { finalizers: ['a b'] }, ['metadata.finalizers[0]']],
];
for (const [name, metadata, errors] of created) {
  test(`metadata with ${name}`, () => {
    assert.deepEqual(fields({ name: 'web', namespace: 'ns', ...metadata }, 'pod'), errors);
  });
}

test('a cluster-scoped object has no namespace', () => {
  assert.deepEqual(fields({ name: 'n', namespace: 'ns' }, 'node'), ['metadata.namespace']);
  assert.deepEqual(fields({ name: 'n' }, 'node'), []);
});

const stored = {
  name: 'web',
  namespace: 'ns',
  uid: 'u',
  creationTimestamp: '2026-01-01T00:00:00Z',
  generation: 2,
  // Written before today's rules.
  labels: { 'a b': 'c' },
  finalizers: ['hold'],
};
const deleting = { ...stored, deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 1 };
const changed: [string, Body, Body, string[]][] = [
  ['nothing, of one that today would be refused', stored, {}, []],
  ['its uid', stored, { uid: 'v' }, ['metadata.uid']],
  ['its time', stored, { creationTimestamp: '2027-01-01T00:00:00Z' }, ['metadata.creationTimestamp']],
  ['its generation to a later one', stored, { generation: 3 }, []],
  ['its generation to an earlier one', stored, { generation: 1 }, ['metadata.generation']],
  ['its labels', stored, { labels: { a: 'b c' } }, ['metadata.labels']],
  ['its finalizers', stored, { finalizers: ['example.com/a'] }, []],
  ['its deletion', stored, { deletionTimestamp: '2026-01-01T00:00:00Z' }, ['metadata.deletionTimestamp']],
  [
    'the grace period of its deletion',
    deleting,
    { deletionGracePeriodSeconds: 5 },
    ['metadata.deletionGracePeriodSeconds'],
  ],
  ['its finalizers to none while it is being deleted', deleting, { finalizers: [] }, []],
  [
    'its finalizers to more while it is being deleted',
    deleting,
    { finalizers: [...stored.finalizers, 'example.com/a'] },
    ['metadata.finalizers', 'metadata.finalizers[0]'],
  ],
];
for (const [name, before, change, errors] of changed) {
  test(`an object changes ${name}`, () => {
    assert.deepEqual(fields({ ...before, ...change }, 'pod', before), errors);
  });
}
