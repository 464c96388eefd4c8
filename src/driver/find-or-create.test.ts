import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findOrCreate } from './find-or-create.ts';
import { openStateStore } from './state/state-store.ts';

interface Thing {
  name: string;
  color: string;
}

function open() {
  const store = openStateStore(':memory:');
  const things = store.collection<Thing>('things', {
    indexes: { name: { of: ({ name }) => name, unique: true } },
  });
  let made = 0;
  const ask = (name: string, color: string) =>
    findOrCreate(store, things, {
      kind: 'thing',
      name,
      differs: (existing) => (existing.color === color ? undefined : `it is ${existing.color}`),
      make: () => {
        if (color === 'ultraviolet') throw new RangeError('not a color');
        made += 1;
        return { key: `key-${made}`, record: { name, color } };
      },
    });
  return { store, things, ask, made: () => made };
}

describe('things created by name', () => {
  it('are created once, and found by those who ask for the same', () => {
    const { ask, made } = open();
    assert.deepEqual(ask('a', 'red'), { name: 'a', color: 'red' });
    assert.deepEqual(ask('a', 'red'), { name: 'a', color: 'red' });
    ask('b', 'blue');
    assert.equal(made(), 2);
  });

  it('are refused to those who ask for something else, with the difference', () => {
    const { ask } = open();
    ask('a', 'red');
    assert.throws(() => ask('a', 'blue'), { code: 'ALREADY_EXISTS', message: /thing a exists.*it is red/ });
  });

  it('are not there at all if making them fails', () => {
    const { ask, things } = open();
    assert.throws(() => ask('a', 'ultraviolet'), RangeError);
    assert.equal(things.count(), 0);
  });
});
