import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import type { MountableVolume } from './mountable-volume.ts';
import { parseRecord, recordOf, recordText, volumeOf } from './volume-record.ts';

const volume = (over: Partial<MountableVolume> = {}): MountableVolume => ({
  driver: parseDriverName('d.test'),
  handle: parseVolumeHandle('h'),
  specName: 'pv-1',
  lifecycle: 'Persistent',
  block: false,
  attributes: {},
  fsType: 'ext4',
  accessModes: [],
  mountOptions: [],
  readOnly: false,
  secrets: {},
  ...over,
});

test('what is written is what a kubelet writes, and no more than is known', () => {
  const staged = {
    driverName: 'd.test',
    volumeHandle: 'h',
    specVolID: 'pv-1',
    nodeName: 'n1',
    volumeLifecycleMode: 'Persistent',
    volumeMode: 'Filesystem',
  };
  assert.deepEqual(recordOf(volume(), 'n1'), staged);
  const attachedAs = { inlineIn: 'ns' };
  assert.deepEqual(recordOf(volume({ lifecycle: 'Ephemeral', block: true, attachedAs }), 'n1', 'u-1'), {
    ...staged,
    volumeLifecycleMode: 'Ephemeral',
    volumeMode: 'Block',
    podUid: 'u-1',
    attachedAs,
  });
});

test('what a record leaves out reads as a persistent file system volume', () => {
  const known = { driver: 'd.test', handle: 'h', specName: '', block: false, lifecycle: 'Persistent' };
  const bare = parseRecord('{"driverName":"d.test","volumeHandle":"h","specVolID":7,"nodeName":null}');
  assert.ok(bare);
  assert.equal(bare.nodeName, '');
  assert.deepEqual(volumeOf(bare), known);
});

test('a record reads back as the volume it was made of', () => {
  for (const over of [
    {},
    { block: true },
    { lifecycle: 'Ephemeral' },
    { attachedAs: { pvName: 'pv-1' } },
  ] as const) {
    const { driver, handle, specName, block, lifecycle, attachedAs } = volume(over);
    const record = parseRecord(recordText(recordOf(volume(over), 'n1', 'u-1')));
    assert.ok(record);
    assert.equal(record.nodeName, 'n1');
    assert.equal(record.podUid, 'u-1');
    assert.deepEqual(volumeOf(record), {
      driver,
      handle,
      specName,
      block,
      lifecycle,
      ...(attachedAs && { attachedAs }),
    });
  }
});

test('what names no driver or no volume is no record', () => {
  for (const text of [
    '7',
    '"text"',
    '{"volumeHandle":"h"}',
    '{"driverName":7,"volumeHandle":"h"}',
    '{"driverName":"d.test","volumeHandle":7}',
    '{"driverName":"d.test","volumeHandle":""}',
    '{"driverName":"","volumeHandle":"h"}',
  ]) {
    assert.equal(parseRecord(text), undefined, text);
  }
});
