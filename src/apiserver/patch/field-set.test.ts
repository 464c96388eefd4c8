import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  difference,
  equalSets,
  formatFields,
  intersection,
  isEmptySet,
  parseFields as parseWith,
  pathsOf,
  union,
} from './field-set.ts';
import { FieldSets } from './field-sets.ts';

const made = new FieldSets();
const parseFields = (fields: unknown) => parseWith(fields, made);

const edges = fc.constantFrom('f:a', 'f:b', 'k:{"name":"x"}', 'v:"y"');
const { fields } = fc.letrec((tie) => ({
  fields: fc.oneof(
    { maxDepth: 3 },
    fc.constant({}),
    fc.dictionary(fc.oneof(edges, fc.constant('.')), tie('fields'), { maxKeys: 3 }),
  ),
}));
/** As the server writes them: "." has no children. */
const sets = fields.map((value) =>
  parseFields(JSON.parse(JSON.stringify(value).replaceAll(/"\.":\{[^{}]*\}/g, '".":{}'))),
);

test('encoding and decoding round-trip', () => {
  fc.assert(
    fc.property(sets, (set) =>
      assert.ok(isEmptySet(set) || set.member || equalSets(parseFields(formatFields(set)), set)),
    ),
  );
});

test('union, intersection and difference are those of sets of paths', () => {
  fc.assert(
    fc.property(sets, sets, (a, b) => {
      const [left, right] = [pathsOf(a), pathsOf(b)];
      const sorted = (paths: string[]): string[] => [...new Set(paths)].sort();
      assert.deepEqual(sorted(pathsOf(union(a, b))), sorted([...left, ...right]));
      assert.deepEqual(
        sorted(pathsOf(intersection(a, b))),
        sorted(left.filter((path) => right.includes(path))),
      );
      assert.deepEqual(
        sorted(pathsOf(difference(a, b))),
        sorted(left.filter((path) => !right.includes(path))),
      );
    }),
  );
});

test('equal field sets are one shared instance, also after many others', () => {
  const text = () => ({ 'f:spec': { 'f:a': {}, 'k:{"name":"x"}': { '.': {}, 'f:b': {} } } });
  const first = parseFields(text());
  assert.equal(parseFields(text()), first);
  assert.equal(formatFields(parseFields(text())), formatFields(first));
  for (let index = 0; index < 30_000; index++) parseFields({ [`f:never-again-${index}`]: {} });
  assert.ok(equalSets(parseFields(text()), first));
  assert.equal(parseFields(text()), parseFields(text()));
});

test('paths read as Kubernetes writes them', () => {
  const set = parseFields({
    'f:spec': { 'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:image': {} } } },
    'f:metadata': { 'f:finalizers': { 'v:"x"': {} } },
  });
  assert.deepEqual(pathsOf(set), [
    '.metadata.finalizers[="x"]',
    '.spec.containers[name="c"]',
    '.spec.containers[name="c"].image',
  ]);
});
