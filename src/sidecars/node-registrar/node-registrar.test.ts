// The node registrar over real sockets, with the test in the kubelet's place; as a process where the exit code counts.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connectCsi } from '../../csi/client/connect-csi.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { CSIRegistration } from '../../csi/generated/csiregistration/csi_registration_pb.ts';
import { Registration } from '../../csi/generated/pluginregistration/registration_pb.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { type CsiServer, serveCsi } from '../../csi/server/serve-csi.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { memoryLog, silentLog } from '../../runtime/log/log.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { temporaryDirectory } from '../../wire/testing/test-socket.ts';
import { sidecarRig } from '../testing/sidecar-rig.ts';
import { createNodeRegistrar, type NodeRegistrarOptions, RegistrationError } from './node-registrar.ts';

const DRIVER = 'scripted.csi.test';
const ENDPOINT = '/var/lib/kubelet/plugins/scripted.csi.test/csi.sock';

function kubelet(t: TestContext, address: string) {
  const connection = connectCsi({ address, clock: realClock, log: silentLog });
  t.after(() => connection.close());
  const options = { timeoutMs: 5000 };
  return {
    registration: csiClient(Registration, connection, options),
    early: csiClient(CSIRegistration, connection, options),
  };
}

/** A clock whose sleeps end after one turn of the event loop: checks run without waiting. */
const hastyClock = { ...realClock, sleep: (_ms: number, signal?: AbortSignal) => realClock.sleep(5, signal) };

async function registrar(t: TestContext, more: Partial<NodeRegistrarOptions> = {}) {
  const directory = await temporaryDirectory(t);
  const log = memoryLog();
  const made = createNodeRegistrar({
    connection: { call: () => Promise.reject(new Error('not asked')), onStateChange: () => () => {} },
    driverName: parseDriverName(DRIVER),
    registrationDirectory: join(directory, 'reg'),
    kubeletRegistrationPath: ENDPOINT,
    requiresPublishPod: false,
    timeoutMs: 2000,
    clock: hastyClock,
    log,
    ...more,
  });
  const stop = new AbortController();
  const ended = made.run(stop.signal);
  ended.catch(() => {});
  t.after(async () => {
    stop.abort();
    await ended.catch(() => {});
  });
  await until(() => existsSync(made.socketPath));
  return { ...made, ended, stop, log, directory };
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await realClock.sleep(2);
}

test('[REG-2] the registration socket serves the driver’s information, and is removed with the registrar', async (t) => {
  const { socketPath, stop, ended, directory, check } = await registrar(t);
  assert.equal(socketPath, join(directory, 'reg', `${DRIVER}-reg.sock`));
  // The file exists a moment before its permissions are set.
  await until(async () => ((await stat(socketPath)).mode & 0o777) === 0o600);
  const { registration } = kubelet(t, socketPath);
  const { type, name, endpoint, supportedVersions } = await registration.getInfo({});
  assert.deepEqual(
    { type, name, endpoint, supportedVersions },
    {
      type: 'CSIPlugin',
      name: DRIVER,
      endpoint: ENDPOINT,
      supportedVersions: ['1.0.0'],
    },
  );
  await registration.notifyRegistrationStatus({ pluginRegistered: true });
  await check();
  stop.abort();
  await ended;
  assert.deepEqual(await readdir(join(directory, 'reg')), []);
  await assert.rejects(check(), /does not exist/);
});

test('[REG-2] a registration that the kubelet refuses ends the registrar, after the kubelet has its answer', async (t) => {
  const { socketPath, ended } = await registrar(t);
  const { registration } = kubelet(t, socketPath);
  await registration.notifyRegistrationStatus({ pluginRegistered: false, error: 'label taken' });
  await assert.rejects(ended, (error) => {
    assert.ok(error instanceof RegistrationError);
    assert.match(error.message, /the kubelet could not register scripted\.csi\.test: label taken/);
    return true;
  });
  assert.ok(!existsSync(socketPath));
});

for (const what of ['the socket', 'the whole directory'] as const) {
  test(`[REG-2] ${what} is deleted: the registrar makes it again`, async (t) => {
    const { socketPath, directory, check } = await registrar(t);
    await rm(what === 'the socket' ? socketPath : join(directory, 'reg'), { recursive: true });
    if (what === 'the whole directory') await mkdir(join(directory, 'reg'), { recursive: true });
    await until(() => existsSync(socketPath));
    await until(async () => (await check().catch(() => 'not yet')) === undefined);
    assert.equal((await kubelet(t, socketPath).registration.getInfo({})).name, DRIVER);
  });
}

test('[REG-2] a socket left by a registrar that was killed is replaced, one that is in use is not', async (t) => {
  const first = await registrar(t);
  const second = createNodeRegistrar({
    connection: { call: () => Promise.reject(new Error('not asked')), onStateChange: () => () => {} },
    driverName: parseDriverName(DRIVER),
    registrationDirectory: join(first.directory, 'reg'),
    kubeletRegistrationPath: ENDPOINT,
    requiresPublishPod: false,
    timeoutMs: 2000,
    clock: hastyClock,
    log: silentLog,
  });
  await assert.rejects(second.run(new AbortController().signal), /another process already does/);
  await first.check();
});

test('[POD-1] --requires-publish-pod serves the driver’s endpoint and wish on the registration socket', async (t) => {
  const { socketPath } = await registrar(t, { requiresPublishPod: true });
  const { early, registration } = kubelet(t, socketPath);
  const info = await early.getCSIDriverInfo({});
  assert.equal(info.csiEndpoint, ENDPOINT);
  assert.equal(info.options?.requiresPublishPod, true);
  assert.equal((await registration.getInfo({})).name, DRIVER);
});

test('[POD-1] without it the service is not there, which means no pod information', async (t) => {
  const { socketPath } = await registrar(t);
  await assert.rejects(kubelet(t, socketPath).early.getCSIDriverInfo({}), (error) => {
    assert.ok(error instanceof CsiError && error.code === 'UNIMPLEMENTED');
    return true;
  });
});

async function serve(address: string, driver: ScriptedDriver): Promise<CsiServer> {
  const { services, interceptor } = driver;
  return serveCsi({ address, services, interceptors: [interceptor], clock: realClock, log: silentLog });
}

test('a driver that restarts is kept, one with another name ends the registrar', async (t) => {
  const directory = await temporaryDirectory(t);
  const address = join(directory, 's');
  const first = await serve(address, new ScriptedDriver({ name: DRIVER }));
  const connection = connectCsi({ address, clock: realClock, log: silentLog });
  t.after(() => connection.close());
  await connection.waitForReady();
  const { ended } = await registrar(t, { connection });
  await first.stop(0);
  const again = new ScriptedDriver({ name: DRIVER });
  const second = await serve(address, again);
  await again.until(() => again.callsOf('GetPluginInfo').length > 0);
  await second.stop(0);
  const third = await serve(address, new ScriptedDriver({ name: 'other.csi.test' }));
  t.after(() => third.stop(0));
  await assert.rejects(ended, /name is now other\.csi\.test, it was registered as scripted\.csi\.test/);
});

test('[REG-2] as a process: registers, answers /healthz, exits 1 when refused and 0 when told to stop', async (t) => {
  const rig = await sidecarRig(t);
  const directory = join(rig.directory, 'reg');
  const socketPath = join(directory, `${DRIVER}-reg.sock`);
  const flags = [`--kubelet-registration-path=${ENDPOINT}`, `--plugin-registration-path=${directory}`];
  const refused = rig.spawn('node-registrar', flags);
  await rig.serve(new ScriptedDriver({ name: DRIVER }));
  await refused.said('Waiting for the kubelet');
  assert.match(refused.output(), /it looks in plugins_registry of its root directory/);
  await kubelet(t, socketPath).registration.notifyRegistrationStatus({
    pluginRegistered: false,
    error: 'no',
  });
  assert.deepEqual(await refused.exit, { code: 1, signal: null });
  assert.match(
    refused.output(),
    /berth node-registrar: the kubelet could not register scripted\.csi\.test: no\n/,
  );
  assert.ok(!existsSync(socketPath));

  const killed = rig.spawn('node-registrar', flags);
  await killed.said('Waiting for the kubelet');
  killed.child.kill('SIGKILL');
  await killed.exit;
  assert.ok(existsSync(socketPath), 'killed: the socket is left behind');
  const running = rig.spawn('node-registrar', [...flags, '--http-endpoint=127.0.0.1:0', '-v=2']);
  await running.said('Waiting for the kubelet');
  await running.said('port=');
  const port = /port=(\d+)/.exec(running.output())?.[1];
  const health = () => fetch(`http://127.0.0.1:${port}/healthz`).then((answer) => answer.status);
  assert.equal(await health(), 200);
  running.child.kill('SIGTERM');
  assert.deepEqual(await running.exit, { code: 0, signal: null });
  assert.ok(!existsSync(socketPath));
});

const commandLines: { argv: string[]; code: number; output: RegExp }[] = [
  { argv: [], code: 2, output: /--kubelet-registration-path must be given/ },
  {
    argv: ['--kubelet-registration-path=/x', '--health-port=1', '--http-endpoint=:2'],
    code: 2,
    output: /only one of --health-port and --http-endpoint/,
  },
  {
    argv: ['--kubelet-registration-path=/x', '--mode=kubelet-registration-probe', '--connection-timeout=1s'],
    code: 0,
    output: /--mode is deprecated[\s\S]*--connection-timeout is accepted and has no effect/,
  },
];
for (const { argv, code, output } of commandLines) {
  test(`berth node-registrar ${argv.join(' ')} → ${code}`, async (t) => {
    const rig = await sidecarRig(t);
    const process = rig.spawn('node-registrar', argv);
    assert.equal((await process.exit).code, code);
    assert.match(process.output(), output);
  });
}
