// Replicas as processes, on a real API server and a real socket: killed, stopped and continued, replaced one after the other
// under a storm of claims; and beside a process that knows only the single Lease. The driver's own record is the judge.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  leases,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../../src/api/kinds.ts';
import { createBinder } from '../../src/control-plane/binder/binder.ts';
import type { CreateVolumeRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { serveCsi } from '../../src/csi/server/serve-csi.ts';
import { ScriptedDriver } from '../../src/csi/testing/scripted-driver.ts';
import { createEventRecorder } from '../../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { GROUP_IDENTITY } from '../../src/runtime/sharding/group-lease.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { type SidecarProcess, sidecarRig } from '../../src/sidecars/testing/sidecar-rig.ts';

const DRIVER = 'scripted.csi.test';
/** Of each call, so that many are under way when a replica goes. */
const CALL_MS = 100;
const DIVIDED = 'Objects are divided anew';

async function claimWorld(t: TestContext) {
  const rig = await sidecarRig(t);
  const driver = new ScriptedDriver({ name: DRIVER, controller: ['CREATE_DELETE_VOLUME'] });
  const served = await serveCsi({
    address: rig.socket,
    services: driver.services,
    interceptors: [
      async (_call, next) => {
        await realClock.sleep(CALL_MS);
        return next();
      },
      driver.interceptor,
    ],
    clock: realClock,
    log: silentLog,
  });
  const stop = new AbortController();
  const ports = { clock: realClock, random: realRandom, log: silentLog, kube: rig.admin };
  const informers = createInformers(ports);
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const recorder = createEventRecorder({ ...ports, component: 'binder', signal: stop.signal });
  const binder = createBinder({ ...ports, informers, recorder });
  informers.start(stop.signal);
  await informers.synced();
  const running = binder.run(stop.signal).catch(() => {});
  t.after(async () => {
    stop.abort();
    await running;
    await served.stop(0);
  });
  await rig.admin.create(storageClasses, { metadata: { name: 'fast' }, provisioner: DRIVER });
  let made = 0;
  return {
    rig,
    driver,
    volumes,
    async makeClaims(count: number): Promise<void> {
      const draft = (): Parameters<typeof rig.admin.create<PersistentVolumeClaim>>[1] => ({
        metadata: { name: `c${made++}`, namespace: 'default' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'fast',
          resources: { requests: { storage: '1Mi' } },
        },
      });
      await Promise.all(
        Array.from({ length: count }, () => rig.admin.create(persistentVolumeClaims, draft())),
      );
    },
    async allBound(): Promise<void> {
      for (let i = 0; i < made; i++) {
        await claims.waitFor(`default/c${i}`, (claim) => claim?.status?.phase === 'Bound');
      }
    },
    async deleteClaims(): Promise<void> {
      for (let i = 0; i < made; i++) {
        await rig.admin.patch(
          persistentVolumeClaims,
          { name: `c${i}`, namespace: 'default' },
          { metadata: { finalizers: null } },
          { type: 'merge' },
        );
        await rig.admin.delete(persistentVolumeClaims, { name: `c${i}`, namespace: 'default' });
      }
    },
    made: () => made,
    replica: (): SidecarProcess => rig.spawn('provisioner', ['--sharding', '--retry-interval-start=100ms']),
  };
}

test('[SCL-1] kill -9, a pause and a rolling update of three replicas under a storm of claims: every volume once, none leaked', {
  timeout: 180_000,
}, async (t) => {
  const world = await claimWorld(t);
  const { driver } = world;
  let replicas = [world.replica(), world.replica(), world.replica()];
  await Promise.all(replicas.map((each) => each.said(DIVIDED)));
  const begun = (count: number): Promise<void> =>
    driver.until(() => driver.callsOf('CreateVolume').length >= count);

  await world.makeClaims(60);
  await begun(10);
  const [killed, paused, third] = replicas as [SidecarProcess, SidecarProcess, SidecarProcess];
  killed.child.kill('SIGKILL');
  await world.makeClaims(60);
  await begun(80);
  paused.child.kill('SIGSTOP');
  await world.makeClaims(60);
  // Everything is made without the paused replica, what was its share included.
  await world.allBound();
  paused.child.kill('SIGCONT');
  await paused.said('This replica stops acting on its share');

  replicas = [paused, third];
  await world.makeClaims(60);
  for (const old of replicas) {
    const next = world.replica();
    await next.said(DIVIDED);
    await world.makeClaims(30);
    old.child.kill('SIGTERM');
    assert.equal((await old.exit).code, 0);
  }
  await world.allBound();

  const names = driver.callsOf<CreateVolumeRequest>('CreateVolume').map(({ name }) => name);
  assert.equal(new Set(names).size, world.made(), 'each claim has one volume name');
  assert.equal(driver.volumes.size, world.made(), 'each claim has one volume');
  assert.equal(world.volumes.list().length, world.made());
  await world.deleteClaims();
  await driver.until(() => driver.volumes.size === 0);
});

test('[SCL-1] beside a replica that knows only the single Lease, either it works or the group', {
  timeout: 120_000,
}, async (t) => {
  const world = await claimWorld(t);
  const { rig } = world;
  const holder = async (): Promise<string | undefined> =>
    (await rig.admin.get(leases, { namespace: 'default', name: 'scripted-csi-test' })).spec?.holderIdentity;
  const single = (): SidecarProcess => rig.spawn('provisioner', ['--leader-election']);

  const leader = single();
  await leader.said('Acquired the lease');
  const replicas = [world.replica(), world.replica()];
  for (const each of replicas) await each.said('Another leads');
  await world.makeClaims(5);
  await world.allBound();
  assert.notEqual(await holder(), GROUP_IDENTITY);
  assert.ok(!replicas.some((each) => each.output().includes(DIVIDED)), 'no replica has a share yet');

  // Moving in: the leader goes, and the group takes the Lease at once.
  leader.child.kill('SIGTERM');
  await leader.exit;
  await Promise.all(replicas.map((each) => each.said(DIVIDED)));
  assert.equal(await holder(), GROUP_IDENTITY);
  const waiting = single();
  await waiting.said('Another leads');
  await world.makeClaims(5);
  await world.allBound();
  const [first, last] = replicas as [SidecarProcess, SidecarProcess];
  first.child.kill('SIGTERM');
  await first.exit;
  assert.equal(await holder(), GROUP_IDENTITY, 'the group has the Lease as long as one replica is left');
  assert.ok(!waiting.output().includes('Acquired the lease'));

  // Moving out: the last one releases it.
  last.child.kill('SIGTERM');
  await last.exit;
  await waiting.said('Acquired the lease');
  await world.makeClaims(5);
  await world.allBound();
  assert.equal(world.driver.volumes.size, world.made());
});
