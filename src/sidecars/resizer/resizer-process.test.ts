// `berth resizer` as a process, over a real socket and HTTPS: its command line, and two of them with one lease.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leases, type PersistentVolumeClaim, persistentVolumeClaims } from '../../api/kinds.ts';
import type { ControllerExpandVolumeRequest } from '../../csi/generated/csi/v1/csi_pb.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { type SidecarProcess, type SidecarRig, sidecarRig } from '../testing/sidecar-rig.ts';
import { boundClaim, DRIVER, growingClass, isResizedTo, soon } from './testing/resizer-world.ts';

const OFFICIAL_FLAGS = [
  'automaxprocs',
  'csi-address',
  'extra-modify-metadata',
  'feature-gates',
  'handle-volume-inuse-error',
  'http-endpoint',
  'kube-api-burst',
  'kube-api-qps',
  'kubeconfig',
  'leader-election',
  'leader-election-labels',
  'leader-election-lease-duration',
  'leader-election-namespace',
  'leader-election-renew-deadline',
  'leader-election-retry-period',
  'master',
  'metrics-address',
  'metrics-path',
  'resync-period',
  'retry-interval-max',
  'retry-interval-start',
  'timeout',
  'version',
  'workers',
];

test('[SIDE-1] takes every flag of the official resizer, and no other', async (t) => {
  const rig = await sidecarRig(t);
  await rig.serve(new ScriptedDriver({ name: DRIVER, controller: ['EXPAND_VOLUME'] }));
  const values: Record<string, string> = {
    'feature-gates':
      'AnnotateFsResize=false,RecoverVolumeExpansionFailure=true,VolumeAttributesClass=false,ReleaseLeaderElectionOnExit=true',
    'leader-election-labels': 'a:b',
    'metrics-path': '/m',
    master: 'https://elsewhere',
    workers: '2',
    'kube-api-qps': '50',
    'kube-api-burst': '100',
    'resync-period': '1m',
    timeout: '5s',
    'retry-interval-start': '2s',
    'retry-interval-max': '1m',
    'leader-election-lease-duration': '15s',
    'leader-election-renew-deadline': '10s',
    'leader-election-retry-period': '5s',
    'leader-election-namespace': 'default',
  };
  // The rig sets these, they exclude each other, or they end the process.
  const apart = ['csi-address', 'kubeconfig', 'http-endpoint', 'metrics-address', 'version'];
  const argv = OFFICIAL_FLAGS.filter((name) => !apart.includes(name)).map(
    (name) => `--${name}=${values[name] ?? 'true'}`,
  );
  const process = rig.spawn('resizer', argv);
  await process.said('Resizing volumes');
  assert.match(process.output(), /--master is accepted and has no effect/);
  process.child.kill('SIGTERM');
  assert.equal((await process.exit).code, 0);
  const stranger = rig.spawn('resizer', ['--worker-threads=3']);
  assert.equal((await stranger.exit).code, 2);
  assert.match(stranger.output(), /--worker-threads/);
});

test('[SIDE-1] ends with a message beside a driver that has nothing for it', async (t) => {
  const rig = await sidecarRig(t);
  await rig.serve(new ScriptedDriver({ name: DRIVER, controller: ['CREATE_DELETE_VOLUME'] }));
  const process = rig.spawn('resizer');
  assert.equal((await process.exit).code, 1);
  assert.match(process.output(), /neither expand volumes \(EXPAND_VOLUME\) nor modify them/);
});

async function settled(rig: SidecarRig, name: string): Promise<PersistentVolumeClaim> {
  const signal = soon();
  const options = { sendInitialEvents: true, allowBookmarks: true, signal };
  for await (const event of rig.admin.watch(persistentVolumeClaims, options)) {
    if (event.type === 'BOOKMARK' || event.object.metadata.name !== name) continue;
    if (isResizedTo('2Gi')(event.object)) return event.object;
  }
  throw new Error('the watch ended');
}

const holder = async (rig: SidecarRig): Promise<string | undefined> =>
  (await rig.admin.get(leases, { name: 'external-resizer-scripted-csi-test', namespace: 'default' })).spec
    ?.holderIdentity;

for (const [signal, code] of [
  ['SIGKILL', null],
  ['SIGTERM', 0],
] as const) {
  test(`[SIDE-1] [SIDE-5] the leader gets ${signal} in the middle of a call: the other one finishes, with the same size`, async (t) => {
    const rig = await sidecarRig(t);
    const driver = new ScriptedDriver({
      name: DRIVER,
      controller: ['EXPAND_VOLUME'],
      nodeExpansionRequired: false,
    });
    await rig.serve(driver);
    await growingClass(rig.admin);
    await boundClaim({ admin: rig.admin, driver }, 'data');
    const held = Promise.withResolvers<void>();
    driver.script('ControllerExpandVolume', { until: held.promise });
    const argv = [
      '--leader-election',
      '--leader-election-lease-duration=2s',
      '--leader-election-renew-deadline=1500ms',
      '--leader-election-retry-period=500ms',
    ];
    const first: SidecarProcess = rig.spawn('resizer', argv);
    await first.said('Resizing volumes');
    const leader = await holder(rig);
    const second = rig.spawn('resizer', argv);
    await rig.admin.patch(
      persistentVolumeClaims,
      { name: 'data', namespace: 'default' },
      { spec: { resources: { requests: { storage: '2Gi' } } } },
      { type: 'merge' },
    );
    const sizes = () =>
      driver
        .callsOf<ControllerExpandVolumeRequest>('ControllerExpandVolume')
        .map(({ capacityRange }) => capacityRange?.requiredBytes);
    await driver.until(() => sizes().length === 1);
    first.child.kill(signal);
    assert.equal((await first.exit).code, code);
    await second.said('Resizing volumes');
    await settled(rig, 'data');
    held.resolve();
    assert.notEqual(await holder(rig), leader);
    assert.deepEqual(sizes(), [2n << 30n, 2n << 30n]);
  });
}
