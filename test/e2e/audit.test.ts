// `berth audit` with `berth up` and hostpath: no flags say where, as with the other commands.

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectCsi } from '../../src/csi/client/connect-csi.ts';
import { csiClient } from '../../src/csi/client/csi-client.ts';
import { Controller } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { volumeCapability } from '../../src/csi/messages/volume-capability.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { lacking } from '../capabilities.ts';
import { berth, EXAMPLES, startUp, temporaryDirectory } from './up-process.ts';

const AT_ONCE = ['--confirm-after=0s', '--min-age=0s'];

test('[AUD-1] in berth up a leaked volume is found and removed by the plan, and a directory of no pod is found', {
  timeout: 120_000,
  skip: lacking('mounts'),
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const up = await startUp(t, join(directory, 'd'));
  const env = { KUBECONFIG: up.kubeconfig };
  const audit = (...args: string[]) => berth(['audit', ...args], { env });
  await berth(['apply', '-f', join(EXAMPLES, 'claim-and-pod.yaml')], { env });
  const waited = await berth(['wait', 'pod/web', '--for=condition=Ready'], { env });
  assert.equal(waited.code, 0, waited.stderr);
  const clean = await audit(...AT_ONCE);
  assert.equal(clean.code, 0, clean.stdout);

  const connection = connectCsi({
    address: join(up.dataDir, 'd', 'hostpath', 'csi.sock'),
    clock: realClock,
    log: silentLog,
  });
  t.after(() => connection.close());
  const driver = csiClient(Controller, connection, { timeoutMs: 30_000 });
  const { volume } = await driver.createVolume({
    name: 'leaked',
    capacityRange: { requiredBytes: 1n << 20n },
    volumeCapabilities: [
      volumeCapability({
        accessModes: ['ReadWriteOnce'],
        volumeMode: 'Filesystem',
        fsType: undefined,
        singleNodeMultiWriter: false,
      }),
    ],
  });
  const id = volume?.volumeId ?? '';
  const { snapshot } = await driver.createSnapshot({ name: 'leaked-too', sourceVolumeId: id });
  const plan = join(directory, 'plan.json');
  const found = await audit(...AT_ONCE, '--plan-out', plan, '--include-kept');
  assert.equal(found.code, 3, found.stdout + found.stderr);
  assert.match(found.stdout, new RegExp(`would DeleteSnapshot ${snapshot?.snapshotId}`));
  assert.match(found.stdout, new RegExp(`would DeleteVolume ${id}`));
  const applied = await audit('apply', plan, ...AT_ONCE, '--include-kept');
  assert.equal(applied.code, 0, applied.stderr);
  const after = await audit(...AT_ONCE);
  assert.equal(after.code, 0, after.stdout);
  assert.equal((await driver.listVolumes({})).entries.length, 1, 'the volume of the claim is left alone');

  const name = 'node-1';
  assert.equal((await audit('node', name, '--confirm-after=0s')).code, 0);
  const orphan = join(up.dataDir, 'n', name, 'pods', '0-0', 'volumes', 'kubernetes.io~csi', 'pvc-x');
  await mkdir(orphan, { recursive: true });
  const node = await audit('node', name, '--confirm-after=0s');
  assert.equal(node.code, 3);
  assert.match(
    node.stdout,
    /LEAK {2}.*pvc-x: it is for pod UID 0-0, and the cluster has no such pod on node-1/,
  );
});
