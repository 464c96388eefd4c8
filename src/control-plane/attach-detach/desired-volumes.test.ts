import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import { DesiredVolumes } from './desired-volumes.ts';

type Bound = Record<string, string>;

/** Pods mount claims; `bound` says which handle each claim stands for. */
function world(bound: Bound) {
  const desired = new DesiredVolumes({
    claim: (key: string) => {
      const name = key.split('/')[1] ?? '';
      return bound[name] === undefined
        ? undefined
        : { metadata: { name, namespace: 'ns', uid: name }, spec: { volumeName: `pv-${name}` } };
    },
    volume: (name: string) => ({
      metadata: { name },
      spec: {
        csi: { driver: 'd', volumeHandle: bound[name.slice(3)] },
        claimRef: { namespace: 'ns', name: name.slice(3), uid: name.slice(3) },
      },
    }),
    driver: () => undefined,
  } as never);
  return { desired, bound };
}
const pod = (name: string, claims: string[], change: { node?: string; uid?: string; phase?: string } = {}) =>
  ({
    metadata: { name, namespace: 'ns', uid: change.uid ?? name },
    spec: {
      ...(change.node !== '' && { nodeName: change.node ?? 'n' }),
      volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    },
    status: { phase: change.phase ?? 'Running' },
  }) as unknown as Pod;
const all = ({ desired }: ReturnType<typeof world>) => [...desired.slots()];

test('a slot is used by all pods of a node that use the volume, until the last is gone', () => {
  const made = world({ a: 'h' });
  const [slot] = made.desired.update(pod('p', ['a']));
  assert.ok(slot);
  assert.deepEqual(made.desired.update(pod('q', ['a'])), [slot]);
  assert.deepEqual(made.desired.podsOf(slot), ['ns/p', 'ns/q']);
  assert.equal(made.desired.size, 1);
  assert.deepEqual(made.desired.remove('ns/p'), [slot]);
  assert.deepEqual([...made.desired.slotsOn('n')], [slot], 'the other pod uses it');
  assert.deepEqual(made.desired.remove('ns/q'), [slot]);
  assert.deepEqual([all(made), [...made.desired.slotsOn('n')], made.desired.podsOf(slot)], [[], [], []]);
  assert.deepEqual(made.desired.remove('ns/q'), []);
});

test('a pod without a node, without volumes, or that has ended, uses nothing', () => {
  const made = world({ a: 'h' });
  assert.deepEqual(made.desired.update(pod('p', ['a'], { node: '' })), []);
  assert.deepEqual(made.desired.update(pod('p', [])), []);
  assert.deepEqual(made.desired.update(pod('p', ['a'], { phase: 'Succeeded' })), []);
  const [slot] = made.desired.update(pod('p', ['a']));
  assert.deepEqual(made.desired.update(pod('p', ['a'], { phase: 'Failed' })), [slot]);
  assert.deepEqual(all(made), []);
});

test('a volume that a pod was seen to use stays used when its claim is gone, but not by another pod of that name', () => {
  const made = world({ a: 'h', b: 'i' });
  const [first, second] = made.desired.update(pod('p', ['a', 'b']));
  delete made.bound.a;
  assert.deepEqual(made.desired.update(pod('p', ['a', 'b'])).toSorted(), [first, second].toSorted());
  assert.equal(made.desired.size, 2);
  assert.deepEqual(
    made.desired.update(pod('p', ['a', 'b'], { uid: 'another' })).toSorted(),
    [first, second].toSorted(),
  );
  assert.equal(made.desired.size, 1);
});

test('a slot has every PersistentVolume of its handle, each once', () => {
  const made = world({ a: 'h', b: 'h' });
  const [slot] = made.desired.update(pod('p', ['a']));
  made.desired.update(pod('q', ['a']));
  made.desired.update(pod('r', ['b']));
  assert.equal(made.desired.size, 1);
  const names = made.desired
    .volumesOf(slot ?? '')
    .map(({ volume }) => (volume as { pvName?: string }).pvName);
  assert.deepEqual(names.toSorted(), ['pv-a', 'pv-b']);
  assert.deepEqual(made.desired.volumesOf('none'), []);
});

test('slots are of nodes', () => {
  const made = world({ a: 'h' });
  const [here] = made.desired.update(pod('p', ['a']));
  const [there] = made.desired.update(pod('q', ['a'], { node: 'm' }));
  assert.notEqual(here, there);
  assert.deepEqual([...made.desired.slotsOn('n')], [here]);
  assert.deepEqual([...made.desired.slotsOn('m')], [there]);
  assert.deepEqual([...made.desired.slotsOn('none')], []);
});
