import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumes,
} from '../../api/kinds.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { VolumePool } from './volume-pool.ts';

const volume = (name: string, spec: object = {}): PersistentVolume =>
  ({
    metadata: { name, resourceVersion: '1' },
    spec: { storageClassName: 'slow', capacity: { storage: '1Gi' }, ...spec },
    status: { phase: 'Available' },
  }) as never;
const claim = (spec: object = { storageClassName: 'slow' }): PersistentVolumeClaim =>
  ({ metadata: { name: 'c', namespace: 'ns', uid: 'u' }, spec }) as never;
const node = { metadata: { name: 'n' } } as Node;
const ours = { claimRef: { namespace: 'ns', name: 'c' } };

function world(...volumes: PersistentVolume[]) {
  const informers = manualInformers();
  const informer = informers.of(persistentVolumes);
  const latest = new ReadYourWrites(informer);
  const pool = new VolumePool(informer, latest);
  for (const each of volumes) informers.change(persistentVolumes, undefined, each);
  return { pool, latest };
}

const rows: [string, PersistentVolume, { spec?: object; node?: Node; delayed?: boolean }, boolean][] = [
  ['a free volume of its class', volume('pv'), {}, true],
  ['a free volume of another class', volume('pv', { storageClassName: 'fast' }), {}, false],
  ['a free volume without a class', volume('pv', { storageClassName: undefined }), { spec: {} }, true],
  ['a free volume, before its node is known', volume('pv'), { delayed: true }, false],
  ['a free volume, once its node is known', volume('pv'), { delayed: true, node }, true],
  ['a reserved volume, before its node is known', volume('pv', ours), { delayed: true }, true],
  [
    'a volume that is reserved for another',
    volume('pv', { claimRef: { namespace: 'ns', name: 'd' } }),
    {},
    false,
  ],
];
for (const [name, given, { spec, node: chosen, delayed = false }, isMatched] of rows)
  test(`a claim ${isMatched ? 'matches' : 'does not match'} ${name}`, () => {
    const found = world(given).pool.match(claim(spec), { node: chosen, delayed });
    assert.equal(found?.metadata.name, isMatched ? 'pv' : undefined);
  });

test('a volume that is held, or was just given away, is not matched', () => {
  const { pool, latest } = world(volume('a'), volume('b'));
  const match = () => pool.match(claim(), { node: undefined, delayed: false })?.metadata.name;
  assert.equal(match(), 'a');
  const release = pool.hold(volume('a'));
  assert.equal(match(), 'b');
  assert.deepEqual([...release()], ['ns/c'], 'it passed over the volume');
  assert.equal(match(), 'a');
  const given = volume('a', { claimRef: { namespace: 'ns', name: 'd' } });
  latest.wrote({ ...given, metadata: { ...given.metadata, resourceVersion: '2' } });
  assert.equal(match(), 'b', 'the write counts before the watch shows it');
});

test('the volumes of a claim are those that name it', () => {
  const { pool } = world(
    volume('a', ours),
    volume('b'),
    volume('c', { claimRef: { namespace: 'x', name: 'c' } }),
  );
  assert.deepEqual(
    pool.naming('ns/c').map(({ metadata }) => metadata.name),
    ['a'],
  );
});
