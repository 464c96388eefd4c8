// `berth sidecars --audit-interval`: the findings as gauges.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { realClock } from '../../src/runtime/time/clock.ts';
import { auditWorld } from './world.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function metricsWith(port: number, pattern: RegExp): Promise<string> {
  const limit = AbortSignal.timeout(60_000);
  for (;;) {
    const text = await fetch(`http://127.0.0.1:${port}/metrics`).then(
      (answer) => answer.text(),
      () => '',
    );
    if (pattern.test(text)) return text;
    await realClock.sleep(50, limit);
  }
}

test('[AUD-1] the sidecars publish what an audit finds, and change nothing', {
  timeout: 120_000,
}, async (t) => {
  const port = await freePort();
  const { rig, driver, leak, makeVolume } = await auditWorld(t);
  leak('vol-pvc-11111111-2222-3333-4444-555555555555');
  await makeVolume('pv-gone', 'never-was');
  rig.spawn('sidecars', [
    '--controllers=attacher',
    '--audit-interval=1h',
    '--audit-min-age=0s',
    `--http-endpoint=127.0.0.1:${port}`,
  ]);
  const text = await metricsWith(port, /berth_audit_last_timestamp_seconds\{/);
  const labels = 'driver_name="scripted.csi.test"';
  assert.ok(text.includes(`berth_audit_findings{${labels},kind="volume-missing",severity="leak"} 1`), text);
  assert.ok(text.includes(`berth_audit_findings{${labels},kind="volume-leaked",severity="doubt"} 1`));
  assert.ok(text.includes(`berth_audit_findings{${labels},kind="volume-leaked",severity="leak"} 0`));
  assert.ok(text.includes(`berth_audit_bytes{${labels},severity="doubt"} 1073741824`));
  assert.ok(text.includes(`berth_audit_complete{${labels}} 1`));
  assert.equal(driver.callsOf('DeleteVolume').length, 0);
});

test('[AUD-1] without --audit-interval nothing is audited', { timeout: 120_000 }, async (t) => {
  const port = await freePort();
  const { rig, driver } = await auditWorld(t);
  rig.spawn('sidecars', ['--controllers=attacher', `--http-endpoint=127.0.0.1:${port}`]);
  const text = await metricsWith(port, /workqueue_adds_total/);
  assert.ok(!text.includes('berth_audit'));
  assert.equal(driver.callsOf('ListVolumes').length, 0);
});
