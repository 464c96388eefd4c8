import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumes } from '../../api/kinds.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { FreeVolumes } from './free-volumes.ts';

const volume = (name: string, change: { spec?: object; status?: object } = {}) => ({
  metadata: { name, resourceVersion: '1' },
  spec: { storageClassName: 'local', ...change.spec },
  status: { phase: 'Available', ...change.status },
});
const on = (...terms: object[]) => ({ spec: { nodeAffinity: { required: { nodeSelectorTerms: terms } } } });
const expression = (key: string, operator: string, ...values: string[]) => ({ key, operator, values });
const node = (name: string, labels: object = {}) => ({ name, node: { metadata: { name, labels } } }) as never;

function world(...volumes: object[]) {
  const informers = manualInformers();
  const free = new FreeVolumes(informers.of(persistentVolumes));
  for (const each of volumes) informers.change(persistentVolumes, undefined, each);
  const near = (at: never, className = 'local') =>
    free.near(className, at).map(({ metadata }) => metadata.name);
  return { free, near, informers };
}

test('a node is offered the volumes that it may reach', () => {
  const { near } = world(
    volume('anywhere'),
    volume('in-a', on({ matchExpressions: [expression('zone', 'In', 'a', 'b')] })),
    volume('on-n', on({ matchFields: [expression('metadata.name', 'In', 'n')] })),
    volume('somewhere', on({ matchExpressions: [expression('disk', 'Exists')] })),
    volume(
      'in-c-or-on-m',
      on(
        { matchExpressions: [expression('zone', 'In', 'c')] },
        { matchFields: [expression('metadata.name', 'In', 'm')] },
      ),
    ),
    volume('nowhere', on({ matchExpressions: [{ key: 'zone', operator: 'In' }] })),
  );
  assert.deepEqual(near(node('n', { zone: 'a' })).toSorted(), ['anywhere', 'in-a', 'on-n', 'somewhere']);
  assert.deepEqual(near(node('m', { zone: 'c' })).toSorted(), ['anywhere', 'in-c-or-on-m', 'somewhere']);
  assert.deepEqual(near({ name: 'gone' } as never).toSorted(), ['anywhere', 'somewhere']);
});

test('volumes of another class, that are taken, or that are not available, are not offered', () => {
  const claimRef = { namespace: 'ns', name: 'c' };
  const { near, free } = world(
    volume('other', { spec: { storageClassName: 'fast' } }),
    volume('classless', { spec: { storageClassName: undefined } }),
    volume('taken', { spec: { claimRef } }),
    volume('failed', { status: { phase: 'Failed' } }),
  );
  assert.deepEqual(near(node('n')), []);
  assert.deepEqual(near(node('n'), 'fast'), ['other']);
  assert.deepEqual(near(node('n'), ''), ['classless']);
  assert.deepEqual(
    free.reservedFor('ns/c').map(({ metadata }) => metadata.name),
    ['taken'],
  );
  assert.deepEqual(free.reservedFor('ns/other'), []);
});

test('a volume that is held, or was reserved a moment ago, is not offered', () => {
  const { free, near } = world(volume('a'), volume('b'));
  const release = free.hold(volume('a') as never);
  assert.deepEqual(near(node('n')), ['b']);
  free.latest.wrote({
    ...volume('b', { spec: { claimRef: { namespace: 'ns', name: 'c' } } }),
    metadata: { name: 'b', resourceVersion: '2' },
  } as never);
  assert.deepEqual(near(node('n')), []);
  release();
  assert.deepEqual(near(node('n')), ['a']);
});
