import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileJsonPath, JsonPathError } from './json-path.ts';

const object = {
  spec: { a: 1, 'b.c': 2, "it's": 3, none: null, list: [10, 20, 30], empty: [] },
  conditions: [
    { type: 'Ready', status: 'True', code: 1 },
    { type: 'Old', status: 'False', code: 2 },
    { status: 'Unknown' },
  ],
};
const table: [path: string, values: unknown[]][] = [
  ['.spec.a', [1]],
  ['{.spec.a}', [1]],
  [' .spec.a ', [1]],
  ['.spec.missing', []],
  ['.spec.a.b', []],
  ['.spec.none', [null]],
  ['.spec.none.b', []],
  ['.spec.toString', []],
  [".spec['b.c']", [2]],
  ['.spec["b.c"]', [2]],
  [".spec['it\\'s']", [3]],
  ["['spec'].a", [1]],
  ['.spec.list[0]', [10]],
  ['.spec.list[-1]', [30]],
  ['.spec.list[3]', []],
  ['.spec.list[-4]', []],
  ['.spec.list[*]', [10, 20, 30]],
  ['.spec.empty[*]', []],
  ['.spec.a[0]', []],
  ['.spec.a[*]', []],
  ['.conditions[*].status', ['True', 'False', 'Unknown']],
  ['.conditions[?(@.type=="Ready")].status', ['True']],
  [".conditions[?(@.type=='Ready')].status", ['True']],
  ['.conditions[?(@.code==2)].status', ['False']],
  ['.conditions[?(@.type!="Ready")].status', ['False', 'Unknown']],
  ['.conditions[?(@.type=="")].status', []],
  ['.conditions[?(@.type=="None")].status', []],
  ['.spec[*].a', []],
];
for (const [path, values] of table) {
  test(`JSONPath ${path}`, () => assert.deepEqual(compileJsonPath(path)(object), values));
}

for (const path of ['spec.a', '', '.spec[', '.spec[a]', '.spec[?(a)]', `.${'a'.repeat(1024)}`]) {
  test(`JSONPath ${path.slice(0, 30)} is refused`, () =>
    assert.throws(() => compileJsonPath(path), JsonPathError));
}

test('JSONPath has at most 1024 characters', () => {
  assert.deepEqual(compileJsonPath(`.${'a'.repeat(1023)}`)(object), []);
});
