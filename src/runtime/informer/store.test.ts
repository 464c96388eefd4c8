// What an event amounts to, given what is cached: tables over the store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import { type Change, Store } from './store.ts';

/** `a:1@5`: the object named a, with uid 1, at version 5. */
function object(text: string): KubeObject {
  const [name = '', uid = '', resourceVersion = ''] = text.split(/[:@]/);
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, uid, resourceVersion, creationTimestamp: '' } };
}

function textOf({ metadata }: KubeObject): string {
  return `${metadata.name}:${metadata.uid}@${metadata.resourceVersion}`;
}

function describe(change: Change<KubeObject>): string {
  if (change.kind === 'added') return `+${textOf(change.object)}`;
  if (change.kind === 'updated') return `${textOf(change.before)}>${textOf(change.after)}`;
  return `-${textOf(change.last)}`;
}

/** `+` puts, `-` removes, `=` swaps in a list. */
function play(steps: string[]): { changes: string[]; cached: string[] } {
  const store = new Store<KubeObject>((_, error) => {
    throw error;
  });
  const changes = steps.flatMap((step) => {
    const rest = step.slice(1);
    if (step.startsWith('+')) return store.put(object(rest));
    if (step.startsWith('-')) return store.remove(object(rest));
    const objects = rest === '' ? [] : rest.split(' ').map(object);
    return [...store.swap(new Map(objects.map((each) => [each.metadata.name, each])), 1000)].flat();
  });
  return { changes: changes.map(describe), cached: [...store.values()].map(textOf).sort() };
}

const cases: { name: string; steps: string[]; changes: string[]; cached: string[] }[] = [
  { name: 'a new object', steps: ['+a:1@5'], changes: ['+a:1@5'], cached: ['a:1@5'] },
  {
    name: 'a newer version',
    steps: ['+a:1@9', '+a:1@10'],
    changes: ['+a:1@9', 'a:1@9>a:1@10'],
    cached: ['a:1@10'],
  },
  { name: 'the same event twice', steps: ['+a:1@5', '+a:1@5'], changes: ['+a:1@5'], cached: ['a:1@5'] },
  {
    name: 'an older version comes late',
    steps: ['+a:1@5', '+a:1@4'],
    changes: ['+a:1@5'],
    cached: ['a:1@5'],
  },
  {
    name: 'deleted and created again within one event',
    steps: ['+a:1@5', '+a:2@7'],
    changes: ['+a:1@5', '-a:1@5', '+a:2@7'],
    cached: ['a:2@7'],
  },
  {
    name: 'deleted with its last state',
    steps: ['+a:1@5', '-a:1@6'],
    changes: ['+a:1@5', '-a:1@6'],
    cached: [],
  },
  { name: 'deleted twice', steps: ['+a:1@5', '-a:1@6', '-a:1@6'], changes: ['+a:1@5', '-a:1@6'], cached: [] },
  {
    name: 'an update that comes after the deletion does not bring it back',
    steps: ['+a:1@5', '-a:1@7', '+a:1@6'],
    changes: ['+a:1@5', '-a:1@7'],
    cached: [],
  },
  {
    name: 'the deletion comes before the creation it ended',
    steps: ['-a:1@7', '+a:1@6'],
    changes: [],
    cached: [],
  },
  {
    name: 'the deletion of the one before comes late',
    steps: ['+a:1@5', '+a:2@7', '-a:1@6'],
    changes: ['+a:1@5', '-a:1@5', '+a:2@7'],
    cached: ['a:2@7'],
  },
  {
    name: 'the deletion of one after the cached one',
    steps: ['+a:1@5', '-a:2@9'],
    changes: ['+a:1@5', '-a:1@5'],
    cached: [],
  },
  {
    name: 'it left the selection, and came back',
    steps: ['+a:1@5', '-a:1@6', '+a:1@8'],
    changes: ['+a:1@5', '-a:1@6', '+a:1@8'],
    cached: ['a:1@8'],
  },
  {
    name: 'versions that are no numbers are taken as they come',
    steps: ['+a:1@x9', '+a:1@x1', '-a:1@x0'],
    changes: ['+a:1@x9', 'a:1@x9>a:1@x1', '-a:1@x0'],
    cached: [],
  },
  {
    name: 'a list changes what it must, deletions first',
    steps: ['=a:1@1 b:2@2 c:3@3', '=d:4@9 c:5@8 b:2@7'],
    changes: ['+a:1@1', '+b:2@2', '+c:3@3', '-a:1@1', '-c:3@3', '+d:4@9', '+c:5@8', 'b:2@2>b:2@7'],
    cached: ['b:2@7', 'c:5@8', 'd:4@9'],
  },
  {
    name: 'a list is the truth, even with older versions',
    steps: ['=a:1@9', '=a:1@3'],
    changes: ['+a:1@9', 'a:1@9>a:1@3'],
    cached: ['a:1@3'],
  },
  {
    name: 'a list forgets deletions',
    steps: ['=a:1@5', '-a:1@6', '=', '+a:1@6'],
    changes: ['+a:1@5', '-a:1@6', '+a:1@6'],
    cached: ['a:1@6'],
  },
];

for (const { name, steps, changes, cached } of cases) {
  test(name, () => assert.deepEqual(play(steps), { changes, cached }));
}

test('an object that a list did not change keeps its identity', () => {
  const store = new Store<KubeObject>(() => {});
  store.put(object('a:1@5'));
  const held = store.get('a');
  assert.deepEqual([...store.swap(new Map([['a', object('a:1@5')]]), 1000)].flat(), []);
  assert.equal(store.get('a'), held);
});

test('only the last thousand deletions are remembered', () => {
  const store = new Store<KubeObject>(() => {});
  store.remove(object('first:first@2'));
  for (let i = 0; i < 2000; i++) store.remove(object(`n${i}:u${i}@${i + 3}`));
  assert.equal(store.put(object('n1999:u1999@5')).length, 0);
  assert.equal(store.put(object('first:first@1')).length, 1);
});

test('a swap in steps: each shows its changes in the cache and the indexes, and in the end all is as the list says', () => {
  const failed = (_: string, error: unknown): never => {
    throw error;
  };
  for (const most of [1, 2, 3, 5, 100]) {
    const store = new Store<KubeObject>(failed);
    store.indexes.add('uid', ({ metadata }) => [metadata.uid], []);
    for (const text of ['gone:1@1', 'same:2@2', 'newer:3@3', 'again:4@4']) store.put(object(text));
    const same = store.get('same');
    const list = ['last:9@9', 'same:2@2', 'again:5@5', 'newer:3@8'].map(object);
    const seen: string[] = [];
    for (const changes of store.swap(new Map(list.map((each) => [each.metadata.name, each])), most)) {
      assert.ok(changes.length <= 2 * most);
      for (const change of changes) {
        seen.push(describe(change));
        if (change.kind === 'deleted') {
          assert.deepEqual(store.indexes.get('uid', change.last.metadata.uid), []);
          continue;
        }
        const now = change.kind === 'added' ? change.object : change.after;
        assert.equal(store.get(change.key), now);
        assert.deepEqual(store.indexes.get('uid', now.metadata.uid), [now]);
      }
    }
    assert.deepEqual(seen, ['-gone:1@1', '-again:4@4', '+last:9@9', '+again:5@5', 'newer:3@3>newer:3@8']);
    assert.deepEqual([...store.values()].map(textOf), list.map(textOf), 'in the order of the list');
    assert.equal(store.get('same'), same, 'the object that readers may hold');
  }
});
