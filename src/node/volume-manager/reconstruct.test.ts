import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import { diskFiles } from '../../csi-plugin/mount/disk-files.ts';
import type { MountPorts } from '../../csi-plugin/mount/mount-plugin.ts';
import { type MountableVolume, volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import { RECORD_FILE, volumePaths } from '../../csi-plugin/mount/volume-paths.ts';
import { recordOf, recordText } from '../../csi-plugin/mount/volume-record.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { memoryMounter } from '../../runtime/mount/memory-mounter.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { ActualState } from './actual-state.ts';
import { createMountHealth } from './mount-health.ts';
import { reconstruct } from './reconstruct.ts';

const volume = (handle: string, block = false): MountableVolume => ({
  driver: parseDriverName('d.test'),
  handle: parseVolumeHandle(handle),
  specName: `pv-${handle}`,
  lifecycle: 'Persistent',
  block,
  attributes: {},
  fsType: '',
  accessModes: [],
  mountOptions: [],
  readOnly: false,
  secrets: {},
});

async function start(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'rc-'));
  t.after(() => rm(root, { recursive: true }));
  const paths = volumePaths(root);
  const mounter = memoryMounter();
  const plugin = { paths, files: diskFiles(root, realClock), mounter } as unknown as MountPorts;
  const log = memoryLog();
  const actual = new ActualState();
  const record = async (directory: string, of: MountableVolume, podUid?: string) => {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, RECORD_FILE), recordText(recordOf(of, 'n1', podUid)));
  };
  return { root, paths, mounter, plugin, log, actual, record };
}

test('after a restart every recorded volume is uncertain; the record’s path shows its kind', async (t) => {
  const { paths, plugin, log, actual, record } = await start(t);
  for (const each of [volume('a'), volume('b', true)]) {
    await record(paths.device(each).recordDir, each);
    await record(paths.mount('u-1', each).recordDir, { ...each, block: false }, 'u-1');
  }
  await mkdir(join(paths.blockDir, 'publish', 'pv-b'), { recursive: true });
  await mkdir(join(paths.blockDir, 'staging', 'pv-b'), { recursive: true });
  assert.deepEqual(await reconstruct(plugin, actual, log), ['u-1']);
  assert.deepEqual(
    [...actual.values()].map(({ volume: { handle, block }, device, mounts }) => ({
      handle,
      block,
      device,
      mounts: [...mounts.values()].map(({ podUid, state, path, readOnly }) => ({
        podUid,
        state,
        path,
        readOnly,
      })),
    })),
    [volume('a'), volume('b', true)].map((of) => ({
      handle: of.handle,
      block: of.block,
      device: 'uncertain',
      mounts: [{ podUid: 'u-1', state: 'uncertain', path: paths.mount('u-1', of).target, readOnly: false }],
    })),
  );
  assert.deepEqual(log.lines, []);
  assert.equal(existsSync(join(paths.blockDir, 'publish', 'pv-b')), true);
});

test('a directory without a record of its own volume is removed if it is empty, and left alone otherwise', async (t) => {
  const { paths, plugin, log, actual, record } = await start(t);
  const empty = paths.device(volume('empty')).recordDir;
  const emptyMount = paths.mount('u-1', volume('empty'));
  await mkdir(join(empty, 'globalmount'), { recursive: true });
  await mkdir(emptyMount.target, { recursive: true });
  const foreign = paths.device(volume('foreign')).recordDir;
  await record(foreign, volume('another'));
  const foreignMount = paths.mount('u-1', volume('foreign')).recordDir;
  await record(foreignMount, volume('another'), 'u-1');
  await reconstruct(plugin, actual, log);
  assert.deepEqual(actual.keys(), []);
  assert.equal(existsSync(empty), false);
  assert.equal(existsSync(emptyMount.recordDir), false);
  assert.equal(existsSync(join(foreign, RECORD_FILE)), true);
  assert.equal(existsSync(join(foreignMount, RECORD_FILE)), true);
  assert.equal(log.lines.length, 2);
});

test('stale or missing mounts of a driver are detected and mounted again; those of other drivers are not checked', async (t) => {
  const { paths, mounter, plugin, log, actual } = await start(t);
  const a = volume('a');
  const b = { ...volume('b'), driver: parseDriverName('e.test') };
  const at = (of: MountableVolume, uid = 'u-1') => paths.mount(uid, of).target;
  for (const each of [a, b]) {
    await mounter.bind('/source', paths.device(each).staging);
    actual.setDevice(each, 'mounted');
    for (const podUid of ['u-1', 'u-2']) {
      const path = at(each, podUid);
      await mounter.bind('/source', path);
      actual.setMount({ podUid, volume: each, path, readOnly: false, state: 'mounted' });
    }
  }
  let found: string[] = [];
  const health = createMountHealth({ plugin, actual, log, found: (key) => found.push(key) });
  const check = async (driver?: MountableVolume['driver']) => {
    found = [];
    await health.check(new AbortController().signal, driver);
    return found;
  };
  const states = (of: MountableVolume) =>
    ['u-1', 'u-2'].map((uid) => actual.mount(volumeKeyOf(of), uid, of.specName)?.state);
  assert.deepEqual(await check(), []);
  await mounter.unmount(at(a));
  assert.deepEqual(await check(b.driver), []);
  assert.deepEqual(await check(a.driver), [volumeKeyOf(a)]);
  assert.deepEqual(states(a), ['uncertain', 'mounted']);
  assert.equal(actual.get(volumeKeyOf(a))?.device, 'mounted');
  assert.deepEqual(await check(), [], 'what is known to be uncertain is not found again');
  mounter.corrupt(paths.device(b).staging);
  assert.deepEqual(await check(), [volumeKeyOf(b)]);
  assert.deepEqual(states(b), ['uncertain', 'uncertain']);
  assert.equal(actual.get(volumeKeyOf(b))?.device, 'uncertain');
});

test('a raw block volume is healthy while its device is there, though nothing is mounted', async (t) => {
  const { root, plugin, log, actual } = await start(t);
  const block = volume('b', true);
  const path = join(root, 'device');
  await writeFile(path, '');
  let kind = 'device';
  const files = { ...plugin.files, kindOf: async () => kind } as typeof plugin.files;
  actual.setMount({ podUid: 'u-1', volume: block, path, readOnly: false, state: 'mounted' });
  const found: string[] = [];
  const health = createMountHealth({
    plugin: { ...plugin, files },
    actual,
    log,
    found: (key) => found.push(key),
  });
  const { signal } = new AbortController();
  await health.check(signal);
  assert.deepEqual(found, []);
  kind = 'file';
  await health.check(signal);
  assert.deepEqual(found, [volumeKeyOf(block)]);
});
