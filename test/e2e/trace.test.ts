// `berth trace` beside a running cluster: the present object, what it waits for, and the same after a restart.

import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { berthHere as berth } from './in-process.ts';
import { claimAndPod, EXAMPLES, startUp, temporaryDirectory } from './up-process.ts';

test('[WHY-3] a trace is of the present object, says what is waited for, and survives a restart', {
  skip: lacking('root'),
  timeout: 150_000,
}, async (t: TestContext) => {
  const directory = join(await temporaryDirectory(t), 'd');
  const started = (): ReturnType<typeof startUp> => startUp(t, directory, ['--without', 'dashboard']);
  let up = await started();
  const env = { KUBECONFIG: up.kubeconfig };
  const done = async (args: string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await berth(args, { env, ...(input !== undefined && { input }) });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const trace = (...args: string[]): Promise<string> => done(['trace', ...args]);
  const make = async (): Promise<void> => {
    await done(['apply', '-f', '-'], claimAndPod('web'));
    await done(['wait', 'pod/web', '--for=condition=Ready', '--timeout=45s']);
  };

  await make();
  const first = await trace('pvc', 'web');
  assert.doesNotMatch(first, /an earlier/);
  assert.match(first, /CreateVolume name=pvc-[0-9a-f]{8}… → OK/);
  assert.match(first, /\nnow: nothing is waited for: PersistentVolumeClaim default\/web is well\n$/);

  const volume = JSON.parse(await done(['get', 'pvc', 'web', '-o', 'json'])).spec.volumeName as string;
  await done(['delete', 'pod/web', 'pvc/web']);
  // The claim is gone before its volume is detached and deleted, and a trace of the claim waits for those too.
  await done(['wait', `pv/${volume}`, '--for=delete', '--timeout=45s']);
  assert.match(await trace('pvc', 'web'), /\nnow: PersistentVolumeClaim default\/web is gone\n$/);
  await make();
  const second = await trace('pvc', 'web');
  assert.match(second, /^ +0\.000 +an earlier PersistentVolumeClaim default\/web ended here; \d+ entries/);
  assert.equal(second.match(/CreateVolume/g)?.length, 1);
  assert.match(await trace('pvc', 'web', '--calls'), /^(?: +\d+\.\d{3}.*→ OK in .*\n)+now: .*\n$/);
  assert.equal((await berth(['trace', 'pvc', 'web', '--since', '1ms'], { env })).code, 1);

  await done(
    ['apply', '-f', '-'],
    JSON.stringify({
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { name: 'before' },
      spec: { source: { persistentVolumeClaimName: 'web' } },
    }),
  );
  await done(['wait', 'volumesnapshot/before', '--for=jsonpath={.status.readyToUse}=true', '--timeout=45s']);
  assert.match(await trace('snapshot', 'before'), /CreateSnapshot name=snapshot-[0-9a-f]{8}… .*→ OK/);

  // A group has the calls and the snapshots of its members.
  await done(['apply', '-f', join(EXAMPLES, 'group-snapshot.yaml')]);
  await done([
    'wait',
    'volumegroupsnapshot/database',
    '--for=jsonpath={.status.readyToUse}=true',
    '--timeout=45s',
  ]);
  const group = await trace('group', 'database');
  assert.match(group, /VolumeGroupSnapshot default\/database created/);
  assert.match(group, /CreateVolumeGroupSnapshot name=groupsnapshot-[0-9a-f]{8}… .*→ OK/);
  assert.equal(group.match(/VolumeSnapshot default\/\S+ created/g)?.length, 2, group);
  assert.doesNotMatch(group, /VolumeSnapshot default\/before/);
  assert.match(group, /\nnow: nothing is waited for: VolumeGroupSnapshot default\/database is well\n$/);

  // A claim that cannot be provisioned: the last line says so.
  await done(['apply', '-f', '-'], claimAndPod('stuck', { class: 'absent' }));
  assert.match(
    await trace('pvc', 'stuck'),
    /\nnow: PersistentVolumeClaim default\/stuck: its StorageClass absent does not exist\n$/,
  );

  const beforeRestart = await trace('pvc', 'web');
  assert.equal(await up.stop(), 0);
  assert.equal((await stat(join(directory, 'trace.jsonl'))).mode & 0o777, 0o600);
  up = await started();
  const third = await trace('pvc', 'web');
  assert.ok(third.startsWith(beforeRestart.slice(0, beforeRestart.lastIndexOf('now: '))), third);
  await done(['delete', 'pod/web', 'pod/stuck']);
  assert.equal(await up.stop(), 0);
});
