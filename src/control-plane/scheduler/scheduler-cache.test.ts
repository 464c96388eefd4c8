import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodVolume,
  StorageClass,
  VolumeAttachment,
} from '../../api/kinds.ts';
import { ANN_BIND_COMPLETED } from '../../api/well-known.ts';
import { SchedulerCache } from './scheduler-cache.ts';

const DRIVER = 'driver.example';
const idOf = (handle: string) => `kubernetes.io/csi/${DRIVER}^${handle}`;
const node = (name: string) => ({ metadata: { name } }) as Node;
const pod = (name: string, nodeName?: string, change: { volumes?: PodVolume[]; phase?: string } = {}) =>
  ({
    metadata: { name, namespace: 'ns', uid: name },
    spec: {
      containers: [],
      ...(nodeName && { nodeName }),
      ...(change.volumes && { volumes: change.volumes }),
    },
    ...(change.phase && { status: { phase: change.phase } }),
  }) as unknown as Pod;

function cache(
  given: {
    claims?: PersistentVolumeClaim[];
    volumes?: PersistentVolume[];
    attachments?: VolumeAttachment[];
  } = {},
) {
  return new SchedulerCache({
    claim: (key) => given.claims?.find(({ metadata }) => `ns/${metadata.name}` === key),
    volume: (name) => given.volumes?.find(({ metadata }) => metadata.name === name),
    storageClass: (name) => (name === 'late' ? ({ provisioner: DRIVER } as StorageClass) : undefined),
    reservedFor: () => [],
    attachmentsOn: (name) => (given.attachments ?? []).filter(({ spec }) => spec.nodeName === name),
  });
}

const podsOn = (of: SchedulerCache, name: string) => [...(of.info(name)?.pods.keys() ?? [])];

test('a pod is where the server says, and leaves room when it has ended or gone', () => {
  const of = cache();
  of.setNode(node('a'));
  assert.equal(of.setPod(pod('p')), false, 'it was nowhere');
  assert.equal(of.isPlaced('ns/p'), false);
  assert.equal(of.setPod(pod('p', 'a')), false);
  assert.deepEqual(podsOn(of, 'a'), ['ns/p']);
  assert.equal(of.setPod(pod('p', 'a', { phase: 'Succeeded' })), true);
  assert.deepEqual(podsOn(of, 'a'), []);
  of.setPod(pod('p', 'a'));
  assert.equal(of.removePod('ns/p'), true);
  assert.equal(of.removePod('ns/p'), false);
});

test('an assumed pod keeps its place until the server shows another, or it is given up', () => {
  const of = cache();
  of.setNode(node('a'));
  of.setNode(node('b'));
  of.assume(pod('p'), 'a');
  assert.equal(of.setPod(pod('p')), false, 'the server does not know yet');
  assert.deepEqual(podsOn(of, 'a'), ['ns/p']);
  assert.equal(of.setPod(pod('p', 'b')), true, 'there is room where it was assumed');
  assert.equal(of.setPod(pod('p', 'b')), false);
  assert.deepEqual([podsOn(of, 'a'), podsOn(of, 'b'), of.nodeOf('ns/p')], [[], ['ns/p'], 'b']);
  of.forget('ns/p');
  assert.deepEqual(podsOn(of, 'b'), ['ns/p'], 'that is where it is');
  of.assume(pod('q'), 'a');
  of.forget('ns/q');
  assert.deepEqual(podsOn(of, 'a'), []);
  of.assume(pod('r'), 'a');
  assert.equal(of.setPod(pod('r', 'a', { phase: 'Failed' })), true, 'it ended before its place was seen');
  assert.deepEqual(podsOn(of, 'a'), []);
});

test('a node that is gone is known as long as it has pods', () => {
  const of = cache();
  of.setNode(node('a'));
  of.setPod(pod('p', 'a'));
  of.removeNode('a');
  assert.equal(of.info('a')?.node, undefined);
  assert.deepEqual(podsOn(of, 'a'), ['ns/p']);
  of.removePod('ns/p');
  assert.equal(of.info('a'), undefined);
  of.setPod(pod('q', 'b'));
  of.setNode(node('b'));
  of.removePod('ns/q');
  assert.notEqual(of.info('b'), undefined);
  of.removeNode('never');
});

const claim = (name: string, volumeName?: string, className = 'late') =>
  ({
    metadata: { name, ...(volumeName && { annotations: { [ANN_BIND_COMPLETED]: 'yes' } }) },
    spec: { storageClassName: className, ...(volumeName && { volumeName }) },
  }) as unknown as PersistentVolumeClaim;
const volume = (name: string, csi = true) =>
  ({
    metadata: { name },
    spec: csi ? { csi: { driver: DRIVER, volumeHandle: `h-${name}` } } : {},
  }) as PersistentVolume;
const ofClaim = (name: string): PodVolume => ({ name, persistentVolumeClaim: { claimName: name } });
const attachment = (name: string, source: object, nodeName = 'a') =>
  ({ metadata: { name }, spec: { attacher: DRIVER, nodeName, source } }) as unknown as VolumeAttachment;

test('the volumes of a node are those of its pods, and all that are attached to it, each once', () => {
  const given = {
    claims: [
      claim('bound', 'pv'),
      claim('late'),
      claim('gone', 'lost'),
      claim('other', 'nfs'),
      claim('none', undefined, 'missing'),
    ],
    volumes: [volume('pv'), volume('nfs', false), volume('left')],
    attachments: [
      attachment('1', { persistentVolumeName: 'pv' }),
      attachment('2', { persistentVolumeName: 'left' }),
      attachment('3', { persistentVolumeName: 'deleted' }),
      attachment('4', {
        inlineVolumeSource: {
          namespace: 'ns',
          volumeSource: { csi: { driver: DRIVER, volumeHandle: 'in' } },
        },
      }),
      attachment('5', { persistentVolumeName: 'pv' }, 'b'),
    ],
  };
  const of = cache(given);
  of.setNode(node('a'));
  const volumes = [
    ...['bound', 'late', 'gone', 'other', 'none', 'absent'].map(ofClaim),
    { name: 'inline', csi: { driver: DRIVER, volumeHandle: 'mine' } },
    { name: 'scratch', csi: { driver: DRIVER } },
  ];
  of.setPod(pod('p', 'a', { volumes }));
  const ids = () => {
    const info = of.info('a');
    assert.ok(info);
    return [...of.volumesOn(info)].flatMap(([driver, found]) => {
      assert.equal(driver, DRIVER);
      return [...found].sort();
    });
  };
  const expected = [
    'attachment:3',
    'claim:ns/gone',
    'claim:ns/late',
    ...['h-left', 'h-pv', 'in', 'mine'].map(idOf),
  ].sort();
  assert.deepEqual(ids(), expected);
  given.attachments.length = 0;
  assert.deepEqual(ids(), expected, 'computed once');
  of.attachmentsChanged('b');
  assert.deepEqual(ids(), expected);
  of.attachmentsChanged('a');
  assert.deepEqual(ids(), ['claim:ns/gone', 'claim:ns/late', idOf('h-pv'), idOf('mine')].sort());
  given.claims.length = 0;
  of.volumesChanged([pod('elsewhere')]);
  assert.notEqual(ids().length, 1);
  of.volumesChanged([pod('p')]);
  assert.deepEqual(ids(), [idOf('mine')]);
});
