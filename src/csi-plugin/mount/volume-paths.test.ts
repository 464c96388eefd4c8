import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import { volumePaths } from './volume-paths.ts';

const ROOT = '/var/lib/kubelet';
const paths = volumePaths(ROOT);
const HASH_OF_H = 'aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123';
const named = (specName: string, block: boolean) => ({
  driver: parseDriverName('d.test'),
  handle: parseVolumeHandle('h'),
  specName,
  block,
});

test('a file system is published and staged where a kubelet does it', () => {
  const recordDir = `${ROOT}/pods/u-1/volumes/kubernetes.io~csi/pv-1`;
  assert.deepEqual(paths.mount('u-1', named('pv-1', false)), {
    target: `${recordDir}/mount`,
    parent: recordDir,
    recordDir,
  });
  const device = `${ROOT}/plugins/kubernetes.io/csi/d.test/${HASH_OF_H}`;
  assert.deepEqual(paths.device(named('pv-1', false)), {
    staging: `${device}/globalmount`,
    recordDir: device,
  });
});

test('a raw block volume is published and staged where a kubelet does it', () => {
  const devices = `${ROOT}/plugins/kubernetes.io/csi/volumeDevices`;
  assert.deepEqual(paths.mount('u-1', named('pv-1', true)), {
    target: `${devices}/publish/pv-1/u-1`,
    parent: `${devices}/publish/pv-1`,
    recordDir: `${ROOT}/pods/u-1/volumeDevices/kubernetes.io~csi/pv-1`,
  });
  assert.deepEqual(paths.device(named('pv-1', true)), {
    staging: `${devices}/staging/pv-1`,
    recordDir: `${devices}/pv-1/data`,
  });
});

test('a name that is no segment of its own is refused', () => {
  for (const name of ['', '.', '..', 'a\0b']) {
    const refused = { message: `${JSON.stringify(name)} cannot be part of a path` };
    assert.throws(() => paths.mount('u-1', named(name, false)), refused);
    assert.throws(() => paths.mount('u-1', named(name, true)), refused);
    assert.throws(() => paths.device(named(name, true)), refused);
    assert.throws(() => paths.podDir(name), refused);
  }
  assert.equal(paths.podDir('...'), `${ROOT}/pods/...`);
});
