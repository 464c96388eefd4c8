import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSIDriver, Pod } from '../../api/kinds.ts';
import { type FsGroupPlan, planFsGroup } from './fs-group.ts';
import type { MountableVolume } from './mountable-volume.ts';

const pod = (securityContext: object) => ({ metadata: {}, spec: { securityContext } }) as unknown as Pod;
const volume = (over: Partial<MountableVolume>) =>
  ({ block: false, fsType: 'ext4', accessModes: ['ReadWriteOnce'], ...over }) as MountableVolume;
const policy = (fsGroupPolicy: string) => ({ spec: { fsGroupPolicy } }) as unknown as CSIDriver;

test('who applies the pod’s fsGroup to a volume, and to what extent', () => {
  const nobody: FsGroupPlan = { by: 'nobody' };
  const node: FsGroupPlan = { by: 'node', gid: 7, onlyIfRootDiffers: false };
  const table: [string, Partial<Parameters<typeof planFsGroup>[0]>, FsGroupPlan][] = [
    ['every mount', {}, node],
    ['group 0 is a group', { pod: pod({ fsGroup: 0 }) }, { ...node, gid: 0 }],
    [
      'only when the root differs',
      { pod: pod({ fsGroup: 7, fsGroupChangePolicy: 'OnRootMismatch' }) },
      { ...node, onlyIfRootDiffers: true },
    ],
    ['the default said aloud', { pod: pod({ fsGroup: 7, fsGroupChangePolicy: 'Always' }) }, node],
    ['one pod only', { volume: volume({ accessModes: ['ReadWriteOncePod'] }) }, node],
    ['many nodes', { volume: volume({ accessModes: ['ReadWriteMany'] }) }, nobody],
    ['no file system named', { volume: volume({ fsType: '' }) }, nobody],
    [
      'policy File asks for neither',
      { driver: policy('File'), volume: volume({ fsType: '', accessModes: ['ReadWriteMany'] }) },
      node,
    ],
    ['policy None', { driver: policy('None') }, nobody],
    ['read-only', { readOnly: true }, nobody],
    ['read-only, and the driver does it', { readOnly: true, mountsGroup: true }, { by: 'driver' }],
    ['raw block, and the driver does it', { volume: volume({ block: true }), mountsGroup: true }, nobody],
    ['no group, and the driver does it', { pod: pod({}), mountsGroup: true }, nobody],
  ];
  for (const [name, given, expected] of table) {
    const plan = planFsGroup({
      pod: pod({ fsGroup: 7 }),
      volume: volume({}),
      readOnly: false,
      driver: undefined,
      mountsGroup: false,
      ...given,
    });
    assert.deepEqual(plan, expected, name);
  }
});
