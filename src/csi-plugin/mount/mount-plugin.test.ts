import assert from 'node:assert/strict';
import { lstat, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { lacking } from '../../../test/capabilities.ts';
import type { CSIDriver, PersistentVolume, Pod } from '../../api/kinds.ts';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { diskFiles } from './disk-files.ts';
import { planFsGroup } from './fs-group.ts';
import {
  fromInlineVolume,
  fromPersistentVolume,
  type MountableVolume,
  VolumeSpecError,
} from './mountable-volume.ts';
import { UnsafePathError } from './volume-files.ts';
import { volumePaths } from './volume-paths.ts';
import { parseRecord, recordOf, recordText, volumeOf } from './volume-record.ts';

const pv = (csi: object, spec: object = {}): PersistentVolume =>
  ({
    metadata: { name: 'pv-1' },
    spec: { accessModes: ['ReadWriteOnce'], csi, ...spec },
  }) as unknown as PersistentVolume;
const pod = (spec: object = {}): Pod =>
  ({ metadata: { name: 'p', namespace: 'ns', uid: 'u-1' }, spec }) as unknown as Pod;
const volume = (over: Partial<MountableVolume> = {}): MountableVolume => ({
  ...fromPersistentVolume(pv({ driver: 'd.test', volumeHandle: 'h' })),
  ...over,
});

describe('who gives a volume to the pod’s group', () => {
  const driver = (fsGroupPolicy: string) => ({ spec: { fsGroupPolicy } }) as CSIDriver;
  const cases: [string, Partial<Parameters<typeof planFsGroup>[0]>, string][] = [
    ['no fsGroup', { pod: pod() }, 'nobody'],
    ['RWO with a file system', { volume: volume({ fsType: 'ext4' }) }, 'node'],
    ['no file system named', {}, 'nobody'],
    [
      'RWX under the default policy',
      { volume: volume({ fsType: 'ext4', accessModes: ['ReadWriteMany'] }) },
      'nobody',
    ],
    ['policy File', { driver: driver('File'), volume: volume({ accessModes: ['ReadWriteMany'] }) }, 'node'],
    ['policy None', { driver: driver('None'), volume: volume({ fsType: 'ext4' }) }, 'nobody'],
    ['read-only', { readOnly: true, volume: volume({ fsType: 'ext4' }) }, 'nobody'],
    ['the driver does it itself', { mountsGroup: true, driver: driver('None') }, 'driver'],
    ['raw block', { volume: volume({ block: true, fsType: 'ext4' }) }, 'nobody'],
  ];
  for (const [name, given, by] of cases) {
    test(name, () => {
      const plan = planFsGroup({
        pod: pod({ securityContext: { fsGroup: 7 } }),
        volume: volume(),
        readOnly: false,
        driver: undefined,
        mountsGroup: false,
        ...given,
      });
      assert.equal(plan.by, by);
    });
  }
});

describe('volumes that cannot be mounted say why', () => {
  const inline = (csi: object) => ({ name: 'v', csi: csi as { driver: string } });
  const cases: [string, () => unknown, RegExp][] = [
    ['not CSI', () => fromPersistentVolume(pv(undefined as unknown as object)), /not a CSI volume/],
    ['no handle', () => fromPersistentVolume(pv({ driver: 'd.test' })), /no volumeHandle/],
    [
      'bad driver name',
      () => fromPersistentVolume(pv({ driver: '../x', volumeHandle: 'h' })),
      /driver name "\.\.\/x" is refused/,
    ],
    [
      'ephemeral not declared',
      () => fromInlineVolume(pod(), inline({ driver: 'd.test' }), undefined),
      /no CSIDriver object d\.test declares/,
    ],
  ];
  for (const [name, make, text] of cases) {
    test(name, () => {
      assert.throws(make, (error) => error instanceof VolumeSpecError && text.test(error.message));
    });
  }
});

test('paths are the kubelet’s, and no name escapes its directory', () => {
  const paths = volumePaths('/var/lib/kubelet');
  assert.equal(
    paths.mount('u-1', { specName: 'pv-1', block: false }).target,
    '/var/lib/kubelet/pods/u-1/volumes/kubernetes.io~csi/pv-1/mount',
  );
  assert.equal(
    paths.device({
      driver: parseDriverName('d.test'),
      handle: parseVolumeHandle('h'),
      specName: 'pv-1',
      block: false,
    }).staging,
    '/var/lib/kubelet/plugins/kubernetes.io/csi/d.test/aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123/globalmount',
  );
  assert.equal(paths.mount('u-1', { specName: 'a/../b', block: false }).recordDir.includes('a~..~b'), true);
  assert.throws(() => paths.mount('..', { specName: 'x', block: false }), /cannot be part of a path/);
});

test('a record reads back as the volume; what is no record is none', () => {
  const made = volume({ block: true, attachedAs: { pvName: 'pv-1' } });
  const record = parseRecord(recordText(recordOf(made, 'n1', 'u-1')));
  assert.ok(record);
  const { driver, handle, specName, block, lifecycle, attachedAs } = made;
  assert.deepEqual(volumeOf(record), { driver, handle, specName, block, lifecycle, attachedAs });
  for (const text of [
    undefined,
    '',
    '{',
    'null',
    '[]',
    '{"driverName":"d"}',
    '{"driverName":"","volumeHandle":"x"}',
  ]) {
    assert.equal(parseRecord(text), undefined, String(text));
  }
});

describe('files', () => {
  const inDirectory = (body: (root: string) => Promise<void>) => async () => {
    const root = await mkdtemp(join(tmpdir(), 'vf-'));
    try {
      await body(root);
    } finally {
      await rm(root, { recursive: true });
    }
  };

  test(
    'links and files on the way are refused',
    inDirectory(async (root) => {
      const files = diskFiles(root, realClock);
      await symlink('/etc', join(root, 'link'));
      await writeFile(join(root, 'file'), '');
      await assert.rejects(files.makeDirectory(join(root, 'link', 'x')), UnsafePathError);
      await assert.rejects(files.makeDirectory(join(root, 'file', 'x')), UnsafePathError);
      await assert.rejects(files.makeDirectory(join(root, '..', 'elsewhere')), UnsafePathError);
      await assert.rejects(files.removeDirectory(join(root, 'link')), UnsafePathError);
    }),
  );

  test(
    'only what is empty is removed',
    inDirectory(async (root) => {
      const files = diskFiles(root, realClock);
      await mkdir(join(root, 'full'));
      await writeFile(join(root, 'full', 'data'), 'x');
      await assert.rejects(files.removeDirectory(join(root, 'full')), /its content is left alone/);
      await assert.rejects(files.removeEmptyFile(join(root, 'full', 'data')), UnsafePathError);
      await files.removeDirectory(join(root, 'absent'));
      assert.deepEqual(await readdir(root, { recursive: true }), ['full', 'full/data']);
    }),
  );

  test(
    'a group gets everything below, links themselves and never what they point to',
    { skip: lacking('root') },
    inDirectory(async (root) => {
      const files = diskFiles(root, realClock);
      const volumeDir = join(root, 'v');
      await mkdir(join(volumeDir, 'sub'), { recursive: true });
      await writeFile(join(volumeDir, 'sub', 'f'), '', { mode: 0o600 });
      await writeFile(join(root, 'outside'), '', { mode: 0o600 });
      await symlink(join(root, 'outside'), join(volumeDir, 'link'));
      const change = { gid: 4711, onlyIfRootDiffers: true };
      await files.changeGroup(volumeDir, change, new AbortController().signal);
      const facts = async (path: string) => {
        const found = await lstat(path);
        return [found.gid, (found.mode & 0o7777).toString(8)];
      };
      assert.deepEqual(await facts(volumeDir), [4711, '2775']);
      assert.deepEqual(await facts(join(volumeDir, 'sub')), [4711, '2775']);
      assert.deepEqual(await facts(join(volumeDir, 'sub', 'f')), [4711, '660']);
      assert.equal((await lstat(join(volumeDir, 'link'))).gid, 4711);
      assert.equal((await stat(join(root, 'outside'))).gid, 0);
      await writeFile(join(volumeDir, 'later'), '', { mode: 0o600 });
      await files.changeGroup(volumeDir, change, new AbortController().signal);
      assert.equal(
        (await facts(join(volumeDir, 'later')))[1],
        '600',
        'the root is as it should be: nothing is walked',
      );
    }),
  );
});
