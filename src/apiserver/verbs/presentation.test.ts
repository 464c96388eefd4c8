import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import type { Kind } from '../kind.ts';
import { Version } from '../storage/version.ts';
import { present, storageTypeOf, toStored } from './presentation.ts';

const plain = { group: 'g', version: 'v1', plural: 'things', kind: 'Thing' } as Kind;
/** A view of Thing in another group, with its size as text. */
const view = {
  group: 'h',
  version: 'v2',
  plural: 'views',
  kind: 'View',
  storedAs: {
    resource: plain,
    toStored: ({ size, ...rest }: KubeObject & { size: string }) => ({ ...rest, size: Number(size) }),
    fromStored: ({ size, ...rest }: KubeObject & { size: number }) => ({ size: String(size), ...rest }),
  },
} as unknown as Kind;

const metadata = { name: 'x' };
const object = (fields: object) => fields as KubeObject;
const stored: [what: string, given: object, fields: string[]][] = [
  ['an object in order', { apiVersion: 'g/v1', kind: 'Thing', metadata, a: 1 }, ['a']],
  ['an object of nothing else', { apiVersion: 'g/v1', kind: 'Thing', metadata }, []],
  ['other fields first', { a: 1, apiVersion: 'g/v1', kind: 'Thing', metadata, b: 1 }, ['a', 'b']],
  ['metadata late', { apiVersion: 'g/v1', kind: 'Thing', a: 1, metadata }, ['a']],
  ['kind first', { kind: 'Thing', apiVersion: 'g/v1', metadata, a: 1 }, ['a']],
  ['no kind', { apiVersion: 'g/v1', metadata, a: 1 }, ['a']],
  ['no metadata', { apiVersion: 'g/v1', kind: 'Thing' }, []],
  ['another version', { apiVersion: 'g/v1beta1', kind: 'Thing', metadata, a: 1 }, ['a']],
];
for (const [what, given, fields] of stored) {
  test(`apiVersion, kind and metadata are stored first: ${what}`, () => {
    const found = toStored(object(given), plain);
    assert.deepEqual(Object.keys(found), ['apiVersion', 'kind', 'metadata', ...fields]);
    assert.deepEqual([found.apiVersion, found.kind], ['g/v1', 'Thing']);
    assert.equal(found.metadata, (given as KubeObject).metadata);
  });
}

test('a view is stored as the kind that it is a view of, under the same name', () => {
  const given = object({ apiVersion: 'h/v2', kind: 'View', metadata, size: '3' });
  assert.deepEqual(toStored(given, view), { apiVersion: 'g/v1', kind: 'Thing', metadata, size: 3 });
  assert.deepEqual([storageTypeOf(plain), storageTypeOf(view)], ['things.g', 'things.g']);
  assert.equal(storageTypeOf({ ...plain, group: '' }), 'things');
});

test('a stored object is shown as it is to its own kind, and converted to others, once', () => {
  const of = object({ apiVersion: 'g/v1', kind: 'Thing', metadata, size: 3 });
  const version = new Version({ key: 'x', revision: 7, object: of, freeze: true });
  assert.equal(present(version, plain), version);
  const shown = present(version, view);
  assert.deepEqual(shown.object, { apiVersion: 'h/v2', kind: 'View', metadata, size: '3' });
  assert.deepEqual(Object.keys(shown.object), ['apiVersion', 'kind', 'metadata', 'size']);
  assert.deepEqual([shown.key, shown.revision], ['x', 7]);
  assert.equal(present(version, view), shown);
  const renamed = { ...plain, version: 'v1beta1' };
  assert.equal(present(version, renamed).object.apiVersion, 'g/v1beta1');
  assert.equal(version.object.apiVersion, 'g/v1');
});
