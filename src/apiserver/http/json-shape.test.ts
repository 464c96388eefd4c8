import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duplicateFields, shapeOf } from './json-shape.ts';

const shapes: [text: string, depth: number, keys: number, hasProto: boolean][] = [
  ['', 0, 0, false],
  ['1', 0, 0, false],
  ['{}', 1, 0, false],
  ['[[],[[]]]', 3, 0, false],
  ['{"a":{"b":[1]},"c":{}}', 3, 3, false],
  // What is in a text is no structure.
  ['"{[:"', 0, 0, false],
  ['{"a":"}]{[:,"}', 1, 1, false],
  [String.raw`{"a\"{":"\\","b":{}}`, 2, 2, false],
  [String.raw`["\\\"[","["]`, 1, 0, false],
  ['"never ended {{', 0, 0, false],
  ['}}{', 0, 0, false],
  ['{"__proto__":1}', 1, 1, true],
  ['{"a":{"__proto__" : 1},"b":2}', 2, 3, true],
  [String.raw`{"\u005f_proto__":1}`, 1, 1, true],
  [String.raw`{"a":{"__prot\u006f__":1}}`, 2, 2, true],
  [String.raw`{"__prot\u006f__":1,"x":"__proto__"}`, 1, 2, true],
  ['{"a":"__proto__"}', 1, 1, false],
  ['{"x__proto__":1}', 1, 1, false],
  [String.raw`{"\u005fx":1,"\q":2}`, 1, 2, false],
];
for (const [text, depth, keys, hasProto] of shapes) {
  test(`the shape of ${text || 'nothing'}`, () => assert.deepEqual(shapeOf(text), { depth, keys, hasProto }));
}

const duplicates: [text: string, paths: string[]][] = [
  ['{"a":1,"b":1}', []],
  ['{"a":1,"a":2}', ['a']],
  ['{"a":1,"a":2,"a":3}', ['a']],
  ['{"a":{"a":1},"b":{"a":1}}', []],
  ['{"s":{"a":1,"b":2,"a":3}}', ['s.a']],
  ['{"l":[{"n":1},{"n":1,"m":2,"n":3}]}', ['l[1].n']],
  ['{"l":[[1,2],[{"n":1,"n":2}]],"k":1,"k":2}', ['l[1][0].n', 'k']],
  ['[{"a":1,"a":1}]', ['[0].a']],
  ['{"a":"b,c:d","b":":"}', []],
  [String.raw`{"a":1,"\u0061":2}`, ['a']],
  ['{"s":{"a":1},"a":1,"s":{"a":1}}', ['s']],
  ['1', []],
];
for (const [text, paths] of duplicates) {
  test(`the duplicate keys of ${text}`, () => assert.deepEqual(duplicateFields(text), paths));
}

test('a hundred duplicate keys are named', () => {
  const keys = Array.from({ length: 150 }, (_, index) => `"k${index}":1,"k${index}":2`);
  const found = duplicateFields(`{${keys.join(',')}}`);
  assert.equal(found.length, 100);
  assert.deepEqual([found[0], found[99]], ['k0', 'k99']);
});
