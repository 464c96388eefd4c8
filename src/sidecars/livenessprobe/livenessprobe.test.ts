// `berth livenessprobe` as a process, with a scripted driver on a real socket.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { type SidecarProcess, type SidecarRig, sidecarRig } from '../testing/sidecar-rig.ts';

async function start(rig: SidecarRig, ...argv: string[]): Promise<{ process: SidecarProcess; url: string }> {
  const process = rig.spawn('livenessprobe', ['--http-endpoint=127.0.0.1:0', ...argv]);
  await process.said('port=');
  return { process, url: `http://127.0.0.1:${/port=(\d+)/.exec(process.output())?.[1]}` };
}

const read = async (url: string) => {
  const answer = await fetch(url);
  return { status: answer.status, text: await answer.text() };
};

test('[SIDE-4] /healthz says what the driver’s Probe says', async (t) => {
  const rig = await sidecarRig(t);
  const { process, url } = await start(rig, '--probe-timeout=300ms');
  const absent = await read(`${url}/healthz`);
  assert.equal(absent.status, 500);
  assert.match(absent.text, /no process listens at .*csi\.sock; check that the driver runs/);

  const driver = new ScriptedDriver({ name: 'scripted.csi.test' });
  const first = await rig.serve(driver);
  while ((await read(`${url}/healthz`)).status !== 200);
  assert.deepEqual(await read(`${url}/healthz`), { status: 200, text: 'ok' });

  driver.ready = false;
  const unready = await read(`${url}/healthz`);
  assert.equal(unready.status, 500);
  assert.match(unready.text, /the driver answers Probe with not ready/);
  driver.ready = true;

  driver.script('Probe', { fail: 'FAILED_PRECONDITION', message: 'disk is on fire' });
  assert.match((await read(`${url}/healthz`)).text, /FAILED_PRECONDITION: disk is on fire/);

  driver.script('Probe', { until: new Promise(() => {}) });
  const hanging = await read(`${url}/healthz`);
  assert.equal(hanging.status, 500);
  assert.match(hanging.text, /DEADLINE_EXCEEDED/);

  await first.stop(0);
  assert.equal((await read(`${url}/healthz`)).status, 500);
  await rig.serve(new ScriptedDriver({ name: 'scripted.csi.test' }));
  while ((await read(`${url}/healthz`)).status !== 200);
  assert.match(
    (await read(`${url}/metrics`)).text,
    /csi_sidecar_operations_seconds_count\{driver_name="scripted\.csi\.test",method_name="\/csi\.v1\.Identity\/Probe",grpc_status_code="OK"\}/,
  );
  process.child.kill('SIGTERM');
  assert.deepEqual(await process.exit, { code: 0, signal: null });
});

for (const other of ['--health-port=9999', '--metrics-address=:9998']) {
  test(`[SIDE-4] ${other} together with --http-endpoint is refused`, async (t) => {
    const rig = await sidecarRig(t);
    const process = rig.spawn('livenessprobe', ['--http-endpoint=:0', other]);
    assert.equal((await process.exit).code, 2);
    assert.match(process.output(), /give only one of/);
  });
}
