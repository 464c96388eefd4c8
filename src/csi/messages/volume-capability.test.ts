import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VolumeCapability_AccessMode_Mode as Mode } from '../generated/csi/v1/csi_pb.ts';
import { AccessModeError, csiAccessMode, volumeCapability } from './volume-capability.ts';

test('each access mode has one CSI mode, finer where the driver can tell writers on one node apart', () => {
  const table: { modes: string[]; plain: Mode | 'refused'; fine: Mode | 'refused' }[] = [
    { modes: ['ReadWriteOnce'], plain: Mode.SINGLE_NODE_WRITER, fine: Mode.SINGLE_NODE_MULTI_WRITER },
    { modes: ['ReadWriteOncePod'], plain: Mode.SINGLE_NODE_WRITER, fine: Mode.SINGLE_NODE_SINGLE_WRITER },
    { modes: ['ReadOnlyMany'], plain: Mode.MULTI_NODE_READER_ONLY, fine: Mode.MULTI_NODE_READER_ONLY },
    { modes: ['ReadWriteMany'], plain: Mode.MULTI_NODE_MULTI_WRITER, fine: Mode.MULTI_NODE_MULTI_WRITER },
    {
      modes: ['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany'],
      plain: Mode.MULTI_NODE_MULTI_WRITER,
      fine: Mode.MULTI_NODE_MULTI_WRITER,
    },
    { modes: ['ReadOnlyMany', 'ReadWriteOnce'], plain: 'refused', fine: 'refused' },
    { modes: ['ReadWriteOncePod', 'ReadWriteOnce'], plain: 'refused', fine: 'refused' },
    { modes: [], plain: 'refused', fine: 'refused' },
    { modes: ['Nonsense'], plain: 'refused', fine: 'refused' },
  ];
  for (const { modes, plain, fine } of table) {
    for (const [singleNodeMultiWriter, expected] of [
      [false, plain],
      [true, fine],
    ] as const) {
      if (expected === 'refused') {
        assert.throws(() => csiAccessMode(modes, singleNodeMultiWriter), AccessModeError, modes.join());
      } else {
        assert.equal(csiAccessMode(modes, singleNodeMultiWriter), expected, modes.join());
      }
    }
  }
});

test('a filesystem volume carries fsType and mount options, a block volume neither', () => {
  const input = {
    accessModes: ['ReadWriteOnce'],
    fsType: 'xfs',
    mountFlags: ['noatime'],
    singleNodeMultiWriter: false,
  };
  const mount = volumeCapability(input).accessType;
  assert.equal(mount.case, 'mount');
  assert.deepEqual([mount.value?.fsType, mount.value?.mountFlags], ['xfs', ['noatime']]);
  assert.equal(volumeCapability({ ...input, volumeMode: 'Block' }).accessType.case, 'block');
});
