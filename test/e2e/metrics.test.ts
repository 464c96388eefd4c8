// What the parts of `berth up` count, read as a scraper would.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
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

test('[NOD-8] berth up serves the statistics of a claim and tells its pod when the volume is ill', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), [
    '--metrics',
    '--volume-stats-agg-period=50ms',
  ]);
  await up.kubectl('apply', '-f', join(EXAMPLES, 'claim-and-pod.yaml'));
  await up.kubectl('wait', 'pod/web', '--for=condition=Ready', '--timeout=30s');
  const { spec } = await up.get('pod', 'web');
  const claim = spec.volumes[0].persistentVolumeClaim.claimName;
  const gauge = async (name: string): Promise<number | undefined> => {
    const text = await up.kubectl('get', '--raw', `/berth/metrics?part=${spec.nodeName}`);
    const labels = `{namespace="default",persistentvolumeclaim="${claim}"}`;
    const line = text.split('\n').find((each) => each.startsWith(`kubelet_volume_stats_${name}${labels} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  while ((await gauge('health_status_abnormal')) !== 0);
  assert.ok(((await gauge('capacity_bytes')) ?? 0) > 0);
  assert.ok(((await gauge('inodes')) ?? 0) > 0);
  const { spec: volume } = await up.get('pv', (await up.get('pvc', claim)).spec.volumeName);
  const ill = join(up.dataDir, 'd/hostpath/state/ill');
  await mkdir(ill, { recursive: true });
  await writeFile(join(ill, volume.csi.volumeHandle), '');
  while ((await gauge('health_status_abnormal')) !== 1);
  const told = async () =>
    (await up.get('events')).items.filter(
      ({ reason, involvedObject }: { reason: string; involvedObject: { kind: string; name: string } }) =>
        reason === 'VolumeConditionAbnormal' &&
        involvedObject.kind === 'Pod' &&
        involvedObject.name === 'web',
    );
  while ((await told()).length === 0);
  const [event] = await told();
  assert.match(event.message, /^Volume .+: .*marked as ill/);
});

test('without --metrics nothing is counted', { skip }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'));
  await assert.rejects(up.kubectl('get', '--raw', '/berth/metrics'), /NotFound/);
});
