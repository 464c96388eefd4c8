// What the parts of `berth up` count, read as a scraper would.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { EXAMPLES, startUp, temporaryDirectory } from './up-process.ts';

const skip = lacking('root', 'kubectl');

test('each part of berth up has the metrics of its own process', { skip }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), ['--metrics']);
  await up.kubectl('apply', '-f', join(EXAMPLES, 'claim-and-pod.yaml'));
  await up.kubectl('wait', 'pod/web', '--for=condition=Ready', '--timeout=30s');
  const parts = (await up.kubectl('get', '--raw', '/berth/metrics')).trim().split('\n');
  for (const part of ['provisioner', 'attacher', 'binder', 'scheduler', 'node-1']) {
    assert.ok(parts.includes(part), `${part} is among ${parts.join(', ')}`);
  }
  const metricsOf = (part: string) => up.kubectl('get', '--raw', `/berth/metrics?part=${part}`);
  const count = (method: string, prefix: string, driver: string) =>
    new RegExp(
      `^${prefix}_operations_seconds_count\\{driver_name="[^"]*${driver}[^"]*",method_name="/csi\\.v1\\.${method}",grpc_status_code="OK"\\} 1$`,
      'm',
    );
  const provisioner = await metricsOf('provisioner');
  assert.match(provisioner, count('Controller/CreateVolume', 'csi_sidecar', 'hostpath.csi.berth'));
  assert.match(
    provisioner,
    /^controller_persistentvolumeclaim_provision_total\{class="hostpath",source=""\} 1$/m,
  );
  assert.doesNotMatch(provisioner, /ControllerPublishVolume/, 'what others call is theirs');
  assert.match(
    await metricsOf('attacher'),
    count('Controller/ControllerPublishVolume', 'csi_sidecar', 'hostpath.csi.berth'),
  );
  const { spec } = await up.get('pod', 'web');
  assert.match(await metricsOf(spec.nodeName), count('Node/NodePublishVolume', 'csi', 'csi.sock'));
  await assert.rejects(metricsOf('nobody'), /NotFound/);
});

test('without --metrics nothing is counted', { skip }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'));
  await assert.rejects(up.kubectl('get', '--raw', '/berth/metrics'), /NotFound/);
});
