import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controllers } from './index.ts';
import { selectControllers } from './select-controllers.ts';

const rows = [
  { name: 'one-controller', alias: 'one' },
  { name: 'two-controller', alias: 'two' },
  { name: 'three-controller', alias: 'three' },
];

test('what --controllers chooses', () => {
  const table: [string, string][] = [
    ['*', 'one two three'],
    ['*,-two', 'one three'],
    ['-two-controller,*', 'one three'],
    ['two', 'two'],
    ['two-controller,one', 'one two'],
    ['-two', ''],
    ['two,-two', 'two'],
    ['', ''],
  ];
  for (const [text, names] of table) {
    const words = text === '' ? [] : text.split(',');
    const chosen = selectControllers(rows, words).map(({ alias }) => alias);
    assert.equal(chosen.join(' '), names, text);
  }
});

test('an unknown name is rejected with an error that lists the known ones', () => {
  assert.throws(
    () => selectControllers(rows, ['*', '-four']),
    /unknown controller "four"; known are one-controller/,
  );
});

test('no two controllers share a name', () => {
  const names = controllers.flatMap(({ name, alias }) => [name, alias]);
  assert.equal(new Set(names).size, names.length);
});
