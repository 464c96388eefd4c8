// The snapshotter and the snapshot controller as commands: what they reject, how one hands over to the next, what they
// serve.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import {
  customResourceDefinitions,
  leases,
  type VolumeSnapshotContent,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { type SidecarRig, sidecarRig } from '../testing/sidecar-rig.ts';
import { untilAny } from '../testing/until-any.ts';

const DRIVER = 'scripted.csi.test';
const fast = ['--leader-election', '--leader-election-retry-period=100ms', '--retry-interval-start=20ms'];

async function install(kube: KubeClient): Promise<void> {
  for (const plural of ['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses']) {
    const file = new URL(`../../../deploy/crds/snapshot.storage.k8s.io_${plural}.yaml`, import.meta.url);
    await kube.create(customResourceDefinitions, parse(await readFile(file, 'utf8')));
  }
}

async function snapshotRig(t: TestContext): Promise<{ rig: SidecarRig; driver: ScriptedDriver }> {
  const rig = await sidecarRig(t);
  await install(rig.admin);
  const driver = new ScriptedDriver({
    name: DRIVER,
    controller: ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'],
  });
  await rig.serve(driver);
  const ready = (name: string) => ({
    id: name,
    name,
    volumeId: 'v',
    sizeBytes: 1n,
    parameters: {},
    ready: true,
  });
  for (const name of ['one', 'two']) driver.snapshots.set(name, ready(name));
  return { rig, driver };
}

/** A pre-provisioned content, and a snapshot bound to it. */
async function take(kube: KubeClient, name: string): Promise<void> {
  await kube.create(volumeSnapshotContents, {
    metadata: { name },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: { snapshotHandle: name },
      volumeSnapshotRef: { name, namespace: 'default' },
    },
  });
  const spec = { source: { volumeSnapshotContentName: name } };
  await kube.create(volumeSnapshots, { metadata: { name, namespace: 'default' }, spec });
}

test('[SIDE-2] a driver that makes no snapshots is refused with the reason', async (t) => {
  const rig = await sidecarRig(t);
  await rig.serve(new ScriptedDriver({ name: DRIVER }));
  const process = rig.spawn('snapshotter');
  assert.equal((await process.exit).code, 1);
  assert.match(process.output(), /does not support snapshots: it does not report CREATE_DELETE_SNAPSHOT/);
});

test('[SIDE-2] bad flags are refused, those of group snapshots are accepted', async (t) => {
  const { rig } = await snapshotRig(t);
  for (const [flag, says] of [
    ['--snapshot-name-prefix=', /snapshot-name-prefix/],
    ['--snapshot-name-uuid-length=40', /snapshot-name-uuid-length/],
    ['--feature-gates=NoSuchGate=true', /NoSuchGate/],
  ] as const) {
    const process = rig.spawn('snapshotter', [flag]);
    assert.equal((await process.exit).code, 2);
    assert.match(process.output(), says);
  }
  const nodeless = rig.spawn('snapshotter', ['--node-deployment']);
  assert.equal((await nodeless.exit).code, 1);
  assert.match(nodeless.output(), /NODE_NAME/);
  const process = rig.spawn('snapshotter', [
    '--groupsnapshot-name-prefix=g',
    '--groupsnapshot-name-uuid-length=3',
    '--feature-gates=CSIVolumeGroupSnapshot=true',
  ]);
  await process.said('Creating and deleting snapshots');
});

test('[SIDE-2] the controller waits for the definitions, and says what to install when they do not come', async (t) => {
  const rig = await sidecarRig(t);
  const argv = [`--kubeconfig=${rig.kubeconfig}`];
  const impatient = rig.spawnPlain('snapshot-controller', [...argv, '--retry-crd-interval-max=300ms']);
  assert.equal((await impatient.exit).code, 1);
  assert.match(
    impatient.output(),
    /volumesnapshots.snapshot.storage.k8s.io is not installed: apply deploy\/crds/,
  );
  const patient = rig.spawnPlain('snapshot-controller', argv);
  await install(rig.admin);
  await patient.said('Running');
});

test('[SIDE-2] [SIDE-5] for both, a leader that is stopped hands over, and a replica without the lease waits', async (t) => {
  const { rig, driver } = await snapshotRig(t);
  const controllerFlags = [`--kubeconfig=${rig.kubeconfig}`, ...fast, '--leader-election-namespace=default'];
  const first = [rig.spawnPlain('snapshot-controller', controllerFlags), rig.spawn('snapshotter', fast)];
  await take(rig.admin, 'one');
  await untilAny(rig.admin, volumeSnapshots, (each) => each.status?.readyToUse === true);
  const second = [rig.spawnPlain('snapshot-controller', controllerFlags), rig.spawn('snapshotter', fast)];
  for (const process of first) {
    process.child.kill('SIGTERM');
    assert.deepEqual(await process.exit, { code: 0, signal: null });
  }
  await take(rig.admin, 'two');
  const two = await untilAny(
    rig.admin,
    volumeSnapshots,
    (each) => each.metadata.name === 'two' && each.status?.readyToUse === true,
  );
  assert.equal(two.status?.boundVolumeSnapshotContentName, 'two');
  const { items } = await rig.admin.list(leases, { namespace: 'default' });
  assert.deepEqual(items.map(({ metadata }) => metadata.name).toSorted(), [
    'external-snapshotter-leader-scripted-csi-test',
    'snapshot-controller-leader',
  ]);
  await rig.admin.delete(volumeSnapshots, { name: 'two', namespace: 'default' });
  await driver.until(() => !driver.snapshots.has('two'));
  assert.ok(driver.snapshots.has('one'));
  for (const process of second) process.child.kill('SIGTERM');
});

test('[SIDE-6] the snapshotter beside the others, and left out where the kinds are not installed until they are', async (t) => {
  const rig = await sidecarRig(t);
  const driver = new ScriptedDriver({
    name: DRIVER,
    controller: ['CREATE_DELETE_SNAPSHOT', 'CREATE_DELETE_VOLUME'],
  });
  await rig.serve(driver);
  driver.volumes.set('v', {
    id: 'v',
    name: 'v',
    capacityBytes: 1n,
    parameters: {},
    topology: [],
    publishedOn: new Map(),
  });
  const process = rig.spawn('sidecars', ['--snapshotter-snapshot-name-prefix=shot']);
  await process.said('Creating and deleting snapshots');
  await install(rig.admin);
  await rig.admin.create(volumeSnapshotClasses, {
    metadata: { name: 'k' },
    driver: DRIVER,
    deletionPolicy: 'Delete',
  });
  await rig.admin.create(volumeSnapshotContents, {
    metadata: { name: 'c' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      volumeSnapshotClassName: 'k',
      source: { volumeHandle: 'v' },
      volumeSnapshotRef: { name: 's', namespace: 'default', uid: 'u-1' },
    },
  });
  const made: VolumeSnapshotContent = await untilAny(
    rig.admin,
    volumeSnapshotContents,
    (each) => each.status?.readyToUse === true,
  );
  assert.equal(made.status?.snapshotHandle, 'snap-shot-u-1');
});
