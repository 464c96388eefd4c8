import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { builtinSchema } from '../builtin-schema/builtin-schema.ts';
import type { Json } from './json.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

const jsonCases: [string, Json, unknown, Json][] = [
  ['adds a field', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
  ['inserts into a list', { l: [1, 3] }, [{ op: 'add', path: '/l/1', value: 2 }], { l: [1, 2, 3] }],
  ['appends', { l: [1] }, [{ op: 'add', path: '/l/-', value: 2 }], { l: [1, 2] }],
  ['removes', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
  ['replaces what is not there', { o: {} }, [{ op: 'replace', path: '/o/x', value: 9 }], { o: { x: 9 } }],
  ['replaces in place', { l: [1, 2, 3] }, [{ op: 'replace', path: '/l/1', value: 9 }], { l: [1, 9, 3] }],
  ['moves', { a: { x: 1 }, b: {} }, [{ op: 'move', from: '/a/x', path: '/b/y' }], { a: {}, b: { y: 1 } }],
  ['copies', { a: [1] }, [{ op: 'copy', from: '/a', path: '/b' }], { a: [1], b: [1] }],
  [
    'tests then changes',
    { a: 1 },
    [
      { op: 'test', path: '/a', value: 1 },
      { op: 'replace', path: '/a', value: 2 },
    ],
    { a: 2 },
  ],
  [
    'escapes',
    { 'a/b': 1, 'c~d': 2 },
    [
      { op: 'remove', path: '/a~1b' },
      { op: 'remove', path: '/c~0d' },
    ],
    {},
  ],
  ['tests absence as null', {}, [{ op: 'test', path: '/a', value: null }], {}],
];
for (const [name, document, patch, expected] of jsonCases) {
  test(`JSON patch ${name}`, () => {
    const before = structuredClone(document);
    assert.deepEqual(applyJsonPatch(document, patch), expected);
    assert.deepEqual(document, before);
  });
}

const jsonRefusals: [string, unknown, string][] = [
  ['not a list', {}, 'BadRequest'],
  ['an unknown operation', [{ op: 'swap', path: '/a' }], 'Invalid'],
  ['a missing path', [{ op: 'remove', path: '/x' }], 'Invalid'],
  ['a missing parent', [{ op: 'add', path: '/x/y', value: 1 }], 'Invalid'],
  ['an index past the end', [{ op: 'add', path: '/l/9', value: 1 }], 'Invalid'],
  ['a failing test', [{ op: 'test', path: '/a', value: 2 }], 'Invalid'],
  [
    'too many operations',
    Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 })),
    'RequestEntityTooLarge',
  ],
];
for (const [name, patch, reason] of jsonRefusals) {
  test(`JSON patch refuses ${name}`, () =>
    assert.throws(
      () => applyJsonPatch({ a: 1, l: [] }, patch),
      (error) => error instanceof KubeError && error.reason === reason,
    ));
}

test('merge patches from this process are read as their JSON: dates as text, undefined as absent', () => {
  const patch = { when: new Date(0), gone: undefined, data: { toJSON: 'a name like any other' } };
  const document = { gone: 1, data: { kept: 'x' } };
  assert.deepEqual(applyMergePatch(document, patch as never), {
    gone: 1,
    when: '1970-01-01T00:00:00.000Z',
    data: { kept: 'x', toJSON: 'a name like any other' },
  });
});

test('merge patches follow RFC 7386', () => {
  const cases: [Json, Json, Json][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [[1, 2], { a: 'b' }, { a: 'b' }],
  ];
  for (const [document, patch, expected] of cases)
    assert.deepEqual(applyMergePatch(document, patch), expected);
});

const podSchema = () => builtinSchema('core/v1', 'Pod');
const containers = (...list: Json[]): Json => ({ spec: { containers: list } });
const strategicCases: [string, Json, Json, Json][] = [
  [
    'merges containers by name',
    containers({ name: 'a', image: 'x', tty: true }),
    containers({ name: 'a', image: 'y' }),
    containers({ name: 'a', image: 'y', tty: true }),
  ],
  [
    'puts a new container first',
    containers({ name: 'a' }),
    containers({ name: 'b' }),
    containers({ name: 'b' }, { name: 'a' }),
  ],
  [
    'puts the elements of the patch in its order, and others where they were among them',
    containers({ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }),
    containers({ name: 'd' }, { name: 'b' }),
    containers({ name: 'a' }, { name: 'c' }, { name: 'd' }, { name: 'b' }),
  ],
  [
    'deletes by $patch',
    containers({ name: 'a' }, { name: 'b' }),
    containers({ name: 'a', $patch: 'delete' }),
    containers({ name: 'b' }),
  ],
  [
    'replaces a list',
    containers({ name: 'a' }),
    containers({ $patch: 'replace' }, { name: 'c' }),
    containers({ name: 'c' }),
  ],
  [
    'replaces an object',
    { metadata: { labels: { a: '1', b: '2' } } },
    { metadata: { labels: { $patch: 'replace', c: '3' } } },
    { metadata: { labels: { c: '3' } } },
  ],
  [
    'deletes an object',
    { spec: { affinity: { a: 1 } } },
    { spec: { affinity: { $patch: 'delete' } } },
    { spec: {} },
  ],
  [
    'merges into an atomic map: only apply patches know of those',
    { spec: { nodeSelector: { a: '1', b: '2' } } },
    { spec: { nodeSelector: { b: '3', c: '4' } } },
    { spec: { nodeSelector: { a: '1', b: '3', c: '4' } } },
  ],
  [
    'adds an atomic map',
    { spec: {} },
    { spec: { nodeSelector: { b: '3' } } },
    { spec: { nodeSelector: { b: '3' } } },
  ],
  [
    'replaces what is no map by one',
    { metadata: { labels: 'odd' } },
    { metadata: { labels: { a: '1', b: null } } },
    { metadata: { labels: { a: '1' } } },
  ],
  [
    'replaces an object that is an atomic map',
    { spec: { nodeSelector: { a: '1' } } },
    { spec: { nodeSelector: { $patch: 'replace', b: '2' } } },
    { spec: { nodeSelector: { b: '2' } } },
  ],
  [
    'merges by $patch, too',
    { metadata: { labels: { a: '1' } } },
    { metadata: { labels: { $patch: 'merge', b: '2' } } },
    { metadata: { labels: { a: '1', b: '2' } } },
  ],
  [
    'adds a list that was not there',
    { spec: {} },
    containers({ name: 'b' }, { name: 'a' }),
    containers({ name: 'b' }, { name: 'a' }),
  ],
  [
    'deletes nothing from a list that was not there',
    { spec: {} },
    containers({ name: 'a', $patch: 'delete' }, { name: 'b' }),
    containers({ name: 'b' }),
  ],
  ['replaces a list by nothing', containers({ name: 'a' }), containers({ $patch: 'replace' }), containers()],
  [
    'deletes every element of a key',
    containers({ name: 'a', tty: true }, { name: 'b' }, { name: 'a' }),
    containers({ name: 'a', $patch: 'delete' }),
    containers({ name: 'b' }),
  ],
  [
    'merges two elements of the patch that have one key',
    containers({ name: 'b' }),
    containers({ name: 'a', image: 'i' }, { name: 'a', tty: true }),
    containers({ name: 'a', image: 'i', tty: true }, { name: 'b' }),
  ],
  [
    'adds an element again after deleting it',
    containers({ name: 'a', image: 'i' }),
    containers({ name: 'a', $patch: 'delete' }, { name: 'a', tty: true }),
    containers({ name: 'a', tty: true }),
  ],
  [
    'deletes several from finalizers, and nothing where there are none',
    { metadata: { finalizers: ['a/x', 'b/y', 'c/z'] }, spec: {} },
    {
      metadata: { '$deleteFromPrimitiveList/finalizers': ['a/x', 'c/z', 'd/d'] },
      spec: { '$deleteFromPrimitiveList/none': ['a'], '$setElementOrder/none': ['a'] },
    },
    { metadata: { finalizers: ['b/y'] }, spec: {} },
  ],
  [
    'keeps others after the elements of the order that they followed',
    containers({ name: 's' }, { name: 'a' }, { name: 'b' }),
    { spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } },
    containers({ name: 's' }, { name: 'b' }, { name: 'a' }),
  ],
  [
    'removes with null',
    { metadata: { labels: { a: '1' } } },
    { metadata: { labels: { a: null } } },
    { metadata: { labels: {} } },
  ],
  [
    'replaces atomic lists',
    { spec: { tolerations: [{ key: 'a' }] } },
    { spec: { tolerations: [{ key: 'b' }] } },
    { spec: { tolerations: [{ key: 'b' }] } },
  ],
  [
    'unites finalizers',
    { metadata: { finalizers: ['a/x'] } },
    { metadata: { finalizers: ['b/y', 'a/x'] } },
    { metadata: { finalizers: ['b/y', 'a/x'] } },
  ],
  [
    'drops duplicates of finalizers',
    { metadata: { finalizers: ['a/x', 'a/x'] } },
    { metadata: { finalizers: ['b/y'] } },
    { metadata: { finalizers: ['b/y', 'a/x'] } },
  ],
  [
    'deletes from finalizers',
    { metadata: { finalizers: ['a/x', 'b/y'] } },
    { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/x'] } },
    { metadata: { finalizers: ['b/y'] } },
  ],
  [
    'keeps only the retained keys',
    { spec: { volumes: [{ name: 'v', emptyDir: {} }] } },
    { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] } },
    { spec: { volumes: [{ name: 'v', hostPath: { path: '/x' } }] } },
  ],
  [
    'orders elements',
    containers({ name: 'a' }, { name: 'b' }, { name: 's' }),
    {
      spec: {
        '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
        containers: [{ name: 'a', image: 'i' }],
      },
    },
    containers({ name: 'b' }, { name: 'a', image: 'i' }, { name: 's' }),
  ],
  [
    'orders without the list',
    containers({ name: 'a' }, { name: 'b' }),
    { spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } },
    containers({ name: 'b' }, { name: 'a' }),
  ],
  [
    'merges env inside containers',
    containers({ name: 'a', env: [{ name: 'X', value: '1' }] }),
    containers({ name: 'a', env: [{ name: 'Y', value: '2' }] }),
    containers({
      name: 'a',
      env: [
        { name: 'Y', value: '2' },
        { name: 'X', value: '1' },
      ],
    }),
  ],
  [
    'merges conditions by type',
    { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
    { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
    { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
  ],
];
for (const [name, document, patch, expected] of strategicCases) {
  test(`strategic merge patch ${name}`, () => {
    const before = structuredClone(document);
    assert.deepEqual(applyStrategicMergePatch(document, patch, podSchema()), expected);
    assert.deepEqual(document, before);
  });
}

test('strategic merge patch refuses an element without its merge key, and unknown directives', () => {
  const pod = containers({ name: 'c', image: 'x' });
  assert.throws(() => applyStrategicMergePatch(pod, containers({ image: 'x' }), podSchema()), KubeError);
  assert.throws(() => applyStrategicMergePatch({}, { $patch: 'shuffle' }, podSchema()), KubeError);
  const reasons: [Json, string][] = [
    [containers({ image: 'x' }), 'Unknown'],
    [containers('x'), 'Unknown'],
    [{ $patch: 'shuffle' }, 'Unknown'],
    [{ $patch: 1 }, 'BadRequest'],
    [['x'], 'BadRequest'],
    ['x', 'BadRequest'],
  ];
  for (const [patch, reason] of reasons) {
    const refused = (error: unknown) => error instanceof KubeError && error.reason === reason;
    assert.throws(() => applyStrategicMergePatch(pod, patch, podSchema()), refused, JSON.stringify(patch));
  }
  assert.deepEqual(applyStrategicMergePatch(undefined, { kind: 'Pod' }, podSchema()), { kind: 'Pod' });
  assert.deepEqual(applyStrategicMergePatch(pod, { $patch: 'delete' }, podSchema()), {});
});
