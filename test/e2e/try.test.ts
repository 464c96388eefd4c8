// `berth try` as a process: on hostpath, on drivers that lack something, and on drivers that fail.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { serveDirectoryDriver } from './directory-driver.ts';
import { leftIn, tried } from './tried.ts';
import { mountsBelow, temporaryDirectory } from './up-process.ts';

const skip = lacking('mounts');

test('[BYO-1] hostpath passes every step, and nothing is left', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { code, lines, stdout, stderr } = await tried(directory);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(lines[0]?.subject?.driver, 'hostpath.csi.berth');
  assert.deepEqual(lines.at(-1)?.counts, { passed: 11, failed: 0, skipped: 0 });
  assert.equal(stderr, '');
  assert.deepEqual(leftIn(directory), []);
});

test('[BYO-1] what a driver cannot do is skipped with the capability that it lacks', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { socket, volumes } = await serveDirectoryDriver(t, directory);
  const { code, lines, steps, stdout } = await tried(directory, `--driver=${socket}`);
  assert.equal(code, 0, stdout);
  assert.equal(lines[0]?.subject?.version, '1.2.3');
  const expected: [string, string, RegExp?][] = [
    ['create a volume', 'passed'],
    ['attach it to a node', 'skipped', /^the driver does not have PUBLISH_UNPUBLISH_VOLUME$/],
    ['stage it on the node', 'skipped', /STAGE_UNSTAGE_VOLUME/],
    ['publish it to a pod', 'passed'],
    ['write a file and read it', 'passed'],
    ['expand it', 'skipped', /EXPAND_VOLUME/],
    ['snapshot it', 'skipped', /CREATE_DELETE_SNAPSHOT/],
    ['restore the snapshot to a new volume', 'skipped', /CREATE_DELETE_SNAPSHOT/],
    ['clone it', 'skipped', /CLONE_VOLUME/],
    ['move it to another node', 'skipped', /on one node; give the socket of a second/],
    ['delete everything', 'passed'],
  ];
  for (const [title, state, why = /^undefined$/] of expected) {
    assert.equal(steps.get(title)?.state, state, title);
    assert.match(String(steps.get(title)?.why), why, title);
  }
  assert.equal(steps.size, expected.length);
  assert.equal(volumes.size, 0);
  assert.deepEqual(mountsBelow(directory), []);
});

test("[BYO-1] a failure has the driver's own words and the flag to give", { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { socket } = await serveDirectoryDriver(t, directory, { needs: 'pool' });
  const { code, steps } = await tried(directory, `--driver=${socket}`);
  assert.equal(code, 1);
  assert.match(
    String(steps.get('create a volume')?.why),
    /^CreateVolume failed with gRPC code 3 \(INVALID_ARGUMENT\); the driver said: "parameter pool is missing"; .*--class-parameters/,
  );
  assert.match(
    String(steps.get('delete everything')?.why),
    /^it needs "create a volume", which did not pass$/,
  );
});

test('[BYO-1] parameters are given by a flag, or with the class in a manifest', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { socket } = await serveDirectoryDriver(t, directory, { needs: 'pool' });
  const given = await tried(directory, `--driver=${socket}`, '--class-parameters=pool=fast');
  assert.equal(given.code, 0, given.stdout);
  const manifest = join(directory, 'class.yaml');
  const meta = 'apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: mine}\n';
  await writeFile(
    manifest,
    `${meta}provisioner: directory.csi.test\nvolumeBindingMode: WaitForFirstConsumer\nparameters: {pool: slow}\n`,
  );
  const ofClass = await tried(directory, `--driver=${socket}`, `--class=${manifest}`);
  assert.equal(ofClass.code, 0, ofClass.stdout + ofClass.stderr);
});
