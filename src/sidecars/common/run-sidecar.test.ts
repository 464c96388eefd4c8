// Start and stop of a whole sidecar, and loss of the driver: the attacher, over a real socket and HTTPS.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { csiNodes, persistentVolumes, type VolumeAttachment, volumeAttachments } from '../../api/kinds.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { flagHelp } from '../../runtime/flags/flag-help.ts';
import { parseFlags } from '../../runtime/flags/parse-flags.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { attacherSidecar } from '../attacher/attacher-sidecar.ts';
import { attachment, DRIVER, existing, ourNode, pv } from '../attacher/testing/attacher-world.ts';
import { provisionerSidecar } from '../provisioner/provisioner-sidecar.ts';
import { type SidecarRig, sidecarRig } from '../testing/sidecar-rig.ts';
import { untilAny } from '../testing/until-any.ts';
import { commonFlags } from './common-flags.ts';
import { DriverChangedError } from './same-driver-transport.ts';

const newDriver = (options = {}) => new ScriptedDriver({ name: DRIVER, ...options });

async function makeAttachment({ admin }: SidecarRig, driver: ScriptedDriver, name: string): Promise<void> {
  existing(driver, `vol-${name}`);
  await admin.create(persistentVolumes, pv(name) as never);
  await admin.create(volumeAttachments, attachment(name, { persistentVolumeName: name }) as never);
}

const attached = (admin: KubeClient, name: string): Promise<VolumeAttachment> =>
  untilAny(
    admin,
    volumeAttachments,
    ({ metadata, status }) => metadata.name === name && status?.attached === true,
  );

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('a sidecar waits for its driver, survives its restart, and stops on its signal', async (t) => {
  const rig = await sidecarRig(t);
  await rig.admin.create(csiNodes, ourNode() as never);
  const driver = newDriver();
  driver.ready = false;
  const sidecar = rig.run(attacherSidecar, ['--retry-interval-start=10ms']);
  await makeAttachment(rig, driver, 'one');
  const first = await rig.serve(driver);
  await driver.until(() => driver.callsOf('Probe').length > 0);
  driver.ready = true;
  await attached(rig.admin, 'one');
  await first.stop(0);
  await makeAttachment(rig, driver, 'two');
  const back = newDriver();
  for (const [id, volume] of driver.volumes) back.volumes.set(id, volume);
  await rig.serve(back);
  await attached(rig.admin, 'two');
  assert.equal(back.calls[0]?.method, 'GetPluginInfo', 'who is there is asked before anything else');
  await sidecar.stop();
  await sidecar.ended;
});

const replacements = {
  'with another name': {
    driver: { name: 'other.csi.test' },
    message: /name is now other\.csi\.test, it was scripted/,
  },
  'with other capabilities': {
    driver: { controller: ['PUBLISH_UNPUBLISH_VOLUME' as const] },
    message: /CREATE_DELETE_VOLUME is gone/,
  },
};
for (const [name, { driver: options, message }] of Object.entries(replacements)) {
  test(`a driver that comes back ${name} ends the sidecar, and is asked nothing else`, async (t) => {
    const rig = await sidecarRig(t);
    const driver = newDriver();
    const first = await rig.serve(driver);
    await rig.admin.create(csiNodes, ourNode() as never);
    const sidecar = rig.run(attacherSidecar, ['--retry-interval-start=10ms']);
    await makeAttachment(rig, driver, 'one');
    await attached(rig.admin, 'one');
    await first.stop(0);
    await makeAttachment(rig, driver, 'two');
    const other = newDriver(options);
    existing(other, 'vol-two');
    await rig.serve(other);
    await assert.rejects(sidecar.ended, (error) => {
      assert.ok(error instanceof DriverChangedError);
      assert.match(error.message, message);
      return true;
    });
    assert.equal(other.callsOf('ControllerPublishVolume').length, 0);
  });
}

const refusals = {
  GetPluginInfo: /GetPluginInfo .*UNIMPLEMENTED/,
  GetPluginCapabilities: /GetPluginCapabilities .*UNIMPLEMENTED/,
  ControllerGetCapabilities: /ControllerGetCapabilities .*UNIMPLEMENTED/,
};
for (const [method, message] of Object.entries(refusals)) {
  test(`a driver that cannot answer ${method} ends the sidecar with a clear message`, async (t) => {
    const rig = await sidecarRig(t);
    const driver = newDriver();
    driver.always(method, { fail: 'UNIMPLEMENTED', message: 'no' });
    await rig.serve(driver);
    await assert.rejects(rig.run(attacherSidecar).ended, message);
  });
}

test('[REG-1] a driver with a dangerous name is refused and not talked to', async (t) => {
  const rig = await sidecarRig(t);
  const driver = new ScriptedDriver({ name: '../../etc' });
  await rig.serve(driver);
  await assert.rejects(rig.run(attacherSidecar).ended, /driver name "\.\.\/\.\.\/etc" is refused/);
  assert.deepEqual([...new Set(driver.calls.map((call) => call.method))], ['Probe', 'GetPluginInfo']);
});

test('metrics and the health of the election are served', async (t) => {
  const rig = await sidecarRig(t);
  const driver = newDriver();
  await rig.serve(driver);
  await rig.admin.create(csiNodes, ourNode() as never);
  const port = await freePort();
  rig.run(attacherSidecar, [`--http-endpoint=127.0.0.1:${port}`, '--metrics-path=/m', '--leader-election']);
  await makeAttachment(rig, driver, 'one');
  await attached(rig.admin, 'one');
  const read = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  assert.deepEqual(await read('/healthz/leader-election'), { status: 200, text: 'ok' });
  assert.equal((await read('/metrics')).status, 404);
  const { text } = await read('/m');
  assert.match(
    text,
    /csi_sidecar_operations_seconds_count\{driver_name="scripted\.csi\.test",method_name="\/csi\.v1\.Controller\/ControllerPublishVolume",grpc_status_code="OK"\} 1/,
  );
  assert.match(text, /leader_election_master_status\{name="external-attacher-leader-scripted-csi-test"\} 1/);
  assert.match(text, /workqueue_depth\{name="csi-attacher-va"\} 0/);
  assert.match(text, /process_start_time_seconds \d+/);
});

test('profiles are served where they are asked for', async (t) => {
  const rig = await sidecarRig(t);
  await rig.serve(newDriver());
  const port = await freePort();
  rig.run(attacherSidecar, [`--http-endpoint=127.0.0.1:${port}`, '--enable-pprof']);
  const profile = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/debug/pprof/profile?seconds=0.01`);
    return ((await answer.json()) as { nodes: unknown[] }).nodes.length;
  };
  let nodes = 0;
  // It starts to listen a moment after the process starts.
  while (nodes === 0) nodes = await profile().catch(() => 0);
  assert.ok(nodes > 0);
});

test('flags without effect print a note, and an empty name prefix is rejected', () => {
  const table = { ...commonFlags, ...provisionerSidecar.flags };
  const { notes } = parseFlags({ table, argv: ['--master=https://x', '--automaxprocs', '--enable-pprof'] });
  assert.deepEqual(notes, [
    '--master is accepted and has no effect: the kubeconfig says where the API server is',
    '--automaxprocs is accepted and has no effect: the work runs in one thread',
  ]);
  assert.throws(() => parseFlags({ table, argv: ['--volume-name-prefix='] }), /must not be empty, got ""/);
  const help = flagHelp(table);
  for (const name of ['--master', '--automaxprocs', '--enable-pprof']) assert.ok(help.includes(name), name);
});
