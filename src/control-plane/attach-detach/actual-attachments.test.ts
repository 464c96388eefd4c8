import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PersistentVolume, type VolumeAttachment, volumeAttachments } from '../../api/kinds.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { ActualAttachments } from './actual-attachments.ts';
import { type SlotVolume, slotVolume } from './slot.ts';

const DRIVER = 'd.example';
const idOf = (volumeHandle: string): SlotVolume => slotVolume({ driver: DRIVER, volumeHandle } as never);
const volume = (name: string, volumeHandle: string): PersistentVolume =>
  ({ metadata: { name }, spec: { csi: { driver: DRIVER, volumeHandle } } }) as unknown as PersistentVolume;
const attachment = (name: string, nodeName: string, source: object, change: object = {}): VolumeAttachment =>
  ({
    metadata: { name },
    spec: { attacher: DRIVER, nodeName, source },
    ...change,
  }) as unknown as VolumeAttachment;
const ofVolume = (persistentVolumeName: string) => ({ persistentVolumeName });
const inline = (volumeHandle: string) => ({ inlineVolumeSpec: { csi: { driver: DRIVER, volumeHandle } } });

function world(attachments: VolumeAttachment[] = []) {
  const informers = manualInformers();
  const actual = new ActualAttachments(informers.of(volumeAttachments));
  const put = (each: VolumeAttachment) => informers.change(volumeAttachments, undefined, each);
  for (const each of attachments) put(each);
  return { actual, put };
}
const names = (found: Iterable<VolumeAttachment>) => [...found].map(({ metadata }) => metadata.name);

test('volumes that share a handle, and inline ones, are one volume', () => {
  const { actual } = world([
    attachment('a', 'n', ofVolume('pv1')),
    attachment('b', 'n', ofVolume('pv2')),
    attachment('c', 'n', inline('h')),
    attachment('d', 'm', ofVolume('pv1')),
    attachment('e', 'n', ofVolume('pv3')),
  ]);
  for (const [name, handle] of [
    ['pv1', 'h'],
    ['pv2', 'h'],
    ['pv3', 'i'],
  ] as const)
    actual.knows(volume(name, handle));
  assert.deepEqual(names(actual.at('n', idOf('h'))).toSorted(), ['a', 'b', 'c']);
  assert.deepEqual(names(actual.at('m', idOf('h'))), ['d']);
  assert.deepEqual(names(actual.at('x', idOf('h'))), []);
  assert.deepEqual(names(actual.onNode('m')), ['d']);
  assert.deepEqual(
    [actual.holdersBesides('n', idOf('h')), actual.holdersBesides('x', idOf('h'))],
    [['m'], ['m', 'n']],
  );
  assert.equal(actual.size, 5);
});

test('a volume whose handle is not known counts by its name', () => {
  const only = attachment('a', 'n', ofVolume('pv'));
  const { actual } = world([only]);
  assert.equal(actual.volumeIdOf(only), 'pv:pv');
  assert.equal(actual.knows({ metadata: { name: 'pv' }, spec: {} } as unknown as PersistentVolume), false);
  assert.equal(actual.volumeIdOf(only), 'pv:pv', 'not of a CSI driver');
  assert.deepEqual([actual.knows(volume('pv', 'h')), actual.knows(volume('pv', 'h'))], [true, false]);
  assert.equal(actual.volumeIdOf(only), idOf('h'));
  assert.deepEqual(names(actual.at('n', idOf('h'))), ['a']);
  actual.forget('pv');
  actual.forget('pv');
  assert.equal(actual.volumeIdOf(only), 'pv:pv');
  assert.deepEqual(names(actual.at('n', idOf('h'))), []);
  assert.deepEqual([names(actual.of('pv')), names(actual.of('x'))], [['a'], []]);
});

test('a volume of the same name with another handle is another one', () => {
  const { actual } = world([attachment('a', 'n', ofVolume('pv')), attachment('b', 'm', ofVolume('other'))]);
  actual.knows(volume('pv', 'h'));
  actual.knows(volume('other', 'h'));
  actual.knows(volume('pv', 'i'));
  assert.deepEqual(names(actual.at('n', idOf('i'))), ['a']);
  assert.deepEqual(actual.holdersBesides('x', idOf('h')), ['m'], 'the other volume of the handle stays');
  assert.deepEqual(actual.holdersBesides('x', idOf('i')), ['n']);
});

const deletionTimestamp = '2026-01-01T00:00:00Z';
const holders: [string, object, boolean][] = [
  ['an attachment', {}, true],
  [
    'one that is going and attached',
    { metadata: { name: 'a', deletionTimestamp }, status: { attached: true } },
    true,
  ],
  [
    'one that is going and keeps its finalizer',
    { metadata: { name: 'a', deletionTimestamp, finalizers: [attacherFinalizer(DRIVER)] } },
    true,
  ],
  [
    'one that is going and has another',
    { metadata: { name: 'a', deletionTimestamp, finalizers: ['a/b'] } },
    false,
  ],
  ['one that is going', { metadata: { name: 'a', deletionTimestamp }, status: { attached: false } }, false],
];
for (const [name, change, holds] of holders)
  test(`${name}: its node ${holds ? 'may have' : 'does not have'} the volume`, () => {
    const { actual } = world([attachment('a', 'n', inline('h'), change)]);
    assert.deepEqual(actual.holdersBesides('x', idOf('h')), holds ? ['n'] : []);
  });

test('an attachment that is being created counts until it is made or seen', () => {
  const { actual, put } = world();
  actual.making(idOf('h'), 'n', 'a');
  actual.making(idOf('h'), 'm', 'b');
  assert.deepEqual(
    [actual.holdersBesides('x', idOf('h')), actual.holdersBesides('n', idOf('h'))],
    [['m', 'n'], ['m']],
  );
  assert.deepEqual(
    [actual.unseen(idOf('h'), 'n'), actual.unseen(idOf('h'), 'x'), actual.unseen(idOf('i'), 'n')],
    ['a', undefined, undefined],
  );
  actual.made(idOf('h'), 'm');
  assert.deepEqual(actual.holdersBesides('x', idOf('h')), ['n'], 'the other is still being created');
  put(attachment('a', 'n', inline('h'), { metadata: { name: 'a', deletionTimestamp } }));
  assert.deepEqual(actual.holdersBesides('x', idOf('h')), ['n'], 'until it is asked for');
  assert.equal(actual.unseen(idOf('h'), 'n'), undefined);
  assert.deepEqual(actual.holdersBesides('x', idOf('h')), [], 'from now on the cache decides');
});
