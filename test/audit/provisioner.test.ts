// Provisioners that are killed between CreateVolume and the PersistentVolume. The official one forgets the volume when its claim is
// deleted: `berth audit` finds it and its plan removes it. Ours has recorded the call: the volume is in flight, not leaked.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  events,
  leases,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../src/api/kinds.ts';
import type { Interceptor } from '../../src/csi/server/serve-call.ts';
import { removeFinalizer } from '../../src/runtime/kube/finalizers.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { missingPeers, peerPath } from '../capabilities.ts';
import { AT_ONCE, auditWorld } from './world.ts';

const TIMEOUT_MS = 120_000;
const LOOK_MS = 50;

/** The volume is made, and its answer never comes. */
const holdCreation: Interceptor = async (call, next) => {
  const answer = await next();
  if (call.method.name === 'CreateVolume') await new Promise(() => {});
  return answer;
};

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const limit = AbortSignal.timeout(60_000);
  while (!(await condition())) await realClock.sleep(LOOK_MS, limit);
}

async function killedWorld(t: TestContext) {
  const world = await auditWorld(t, { interceptor: holdCreation });
  const { kube, driver } = world;
  const claim = await world.makeClaim('data');
  return {
    ...world,
    claim,
    made: () => driver.until(() => driver.volumes.size === 1),
    /** There is no controller here that would let it go. */
    async deleteClaim(): Promise<void> {
      const at = { name: 'data', namespace: 'default' };
      await kube.delete(persistentVolumeClaims, at);
      const object: PersistentVolumeClaim | undefined = await kube
        .get(persistentVolumeClaims, at)
        .catch(() => undefined);
      const finalizer = object?.metadata.finalizers ?? [];
      if (object) await removeFinalizer({ kube, resource: persistentVolumeClaims, object, finalizer });
    },
  };
}

test('[AUD-1] a volume that the official provisioner leaked is found, and removed by the plan', {
  timeout: TIMEOUT_MS,
  skip: missingPeers('csi-provisioner'),
}, async (t) => {
  const world = await killedWorld(t);
  const { kube, driver, rig, run, audit, directory } = world;
  const child = spawn(
    peerPath('csi-provisioner') ?? '',
    [`--csi-address=${rig.socket}`, `--kubeconfig=${rig.kubeconfig}`, '--timeout=60s'],
    { stdio: 'ignore' },
  );
  const exit = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  await world.made();
  // Its event is what this cluster will remember of the claim.
  await until(async () =>
    (await kube.list(events)).items.some(
      ({ reason, involvedObject }) =>
        reason === 'Provisioning' && involvedObject.uid === world.claim.metadata.uid,
    ),
  );
  child.kill('SIGKILL');
  await exit;
  const waiting = await audit();
  assert.equal(waiting.findings.length, 0, 'its claim still waits for it');
  await world.deleteClaim();
  assert.deepEqual((await kube.list(persistentVolumes)).items, [], 'nothing records the volume');

  const { code, findings } = await audit();
  const [leaked] = driver.volumes.keys();
  assert.equal(code, 3);
  assert.deepEqual(
    findings.map(({ id, does }) => [id, does]),
    [[`volume-leaked/${leaked}`, `DeleteVolume ${leaked}`]],
  );
  const plan = join(directory, 'plan.json');
  await run(...AT_ONCE, '--plan-out', plan);
  const applied = await run('apply', plan, ...AT_ONCE);
  assert.equal(applied.code, 0, applied.stderr);
  assert.equal(driver.volumes.size, 0);
  assert.equal((await audit()).code, 0);
});

test('[AUD-1] a volume that our provisioner has recorded is in flight, not leaked, though its claim is gone', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const world = await killedWorld(t);
  const { kube, driver, rig, audit, run, leak, directory } = world;
  const provisioner = rig.spawn('provisioner', ['--leader-election-namespace=default']);
  await world.made();
  await until(async () => (await kube.list(leases)).items.length > 0);
  provisioner.child.kill('SIGKILL');
  await provisioner.exit;
  await world.deleteClaim();
  const { findings, underWay } = await audit('--exclusive');
  assert.deepEqual(findings, []);
  assert.deepEqual(
    underWay.map(({ subject }) => subject),
    ['PersistentVolumeClaim default/data'],
  );
  leak('vol-pvc-11111111-2222-3333-4444-555555555555');
  const plan = join(directory, 'plan.json');
  await run(...AT_ONCE, '--exclusive', '--plan-out', plan);
  const refused = await run('apply', plan, ...AT_ONCE, '--exclusive');
  assert.match(refused.stderr, /something is under way.*recorded a CreateVolume call/);
  assert.equal(driver.volumes.size, 2);
});
