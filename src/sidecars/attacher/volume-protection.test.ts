// How long the attacher's finalizer stays on a volume that nothing attaches any more, on a real API server.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type PersistentVolume, persistentVolumes, volumeAttachments } from '../../api/kinds.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { BY_VOLUME, VolumeProtection } from './volume-protection.ts';

const DRIVER = 'd.csi.test' as DriverName;
const FINALIZER = attacherFinalizer(DRIVER);
const { signal } = new AbortController();

/** A volume with the attacher's finalizer that nothing attaches. */
async function world(t: TestContext, phase: string) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const clock = new VirtualClock();
  const stop = new AbortController();
  t.after(() => stop.abort());
  const informers = createInformers({ kube, clock: realClock, random: seededRandom('v'), log: silentLog });
  const volumes = informers.of(persistentVolumes);
  const attachments = informers.of(volumeAttachments);
  attachments.addIndex(BY_VOLUME, ({ spec }) => [spec.source.persistentVolumeName ?? '']);
  await kube.create(persistentVolumes, {
    metadata: { name: 'v', finalizers: [FINALIZER] },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: DRIVER, volumeHandle: 'v' },
    },
  });
  const setPhase = (next: string) =>
    kube.patch(
      persistentVolumes,
      { name: 'v' },
      { status: { phase: next } },
      {
        type: 'merge',
        subresource: 'status',
      },
    );
  const until = (holds: (volume: PersistentVolume | undefined) => boolean) =>
    volumes.waitFor('v', holds, AbortSignal.timeout(20_000));
  await setPhase(phase);
  informers.start(stop.signal);
  await informers.synced(stop.signal);
  const protection = new VolumeProtection({
    kube,
    driver: DRIVER,
    volumes,
    attachments,
    clock,
    log: silentLog,
  });
  return {
    ...{ kube, clock, protection, setPhase, until },
    look: () => protection.reconcile('v', { signal } as never),
    isProtected: async () =>
      (await kube.get(persistentVolumes, { name: 'v' })).metadata.finalizers?.includes(FINALIZER) ?? false,
  };
}

test('[ATT-8] a bound volume that nothing attaches keeps the finalizer for ten seconds, as a pod may move', async (t) => {
  const { clock, look, isProtected } = await world(t, 'Bound');
  assert.deepEqual((await look()).kind, 'requeueAfter');
  await clock.advance(9_999);
  const outcome = await look();
  assert.equal(outcome.kind === 'requeueAfter' && outcome.delayMs, 1);
  assert.equal(await isProtected(), true);
  await clock.advance(1);
  assert.equal((await look()).kind, 'done');
  assert.equal(await isProtected(), false);
});

test('[ATT-8] a volume that was attached meanwhile keeps it for ten seconds more', async (t) => {
  const { kube, clock, protection, look, isProtected } = await world(t, 'Bound');
  await look();
  await clock.advance(9_000);
  await protection.protect(await kube.get(persistentVolumes, { name: 'v' }), signal);
  await clock.advance(9_000);
  const outcome = await look();
  assert.equal(outcome.kind === 'requeueAfter' && outcome.delayMs, 10_000);
  assert.equal(await isProtected(), true);
});

test('[ATT-8] a volume whose claim is gone loses it at once, so that its deletion need not wait', async (t) => {
  const { look, isProtected, setPhase, until } = await world(t, 'Bound');
  await look();
  await setPhase('Released');
  await until((volume) => volume?.status?.phase === 'Released');
  assert.equal((await look()).kind, 'done');
  assert.equal(await isProtected(), false);
});

test('[ATT-8] a volume that is being deleted loses it at once', async (t) => {
  const { kube, look, until } = await world(t, 'Bound');
  await kube.patch(
    persistentVolumes,
    { name: 'v' },
    { metadata: { finalizers: [FINALIZER] } },
    { type: 'merge' },
  );
  await kube.delete(persistentVolumes, { name: 'v' });
  await until((volume) => volume?.metadata.deletionTimestamp !== undefined);
  await look();
  await until((volume) => volume === undefined);
});

test('[ATT-5] a finalizer that another attacher has written is renewed once before the volume is attached, because its removal may be on its way', async (t) => {
  const { kube, protection } = await world(t, 'Bound');
  const read = () => kube.get(persistentVolumes, { name: 'v' });
  const found = await read();
  await protection.protect(found, signal);
  const renewed = await read();
  assert.notDeepEqual(renewed.metadata.finalizers, found.metadata.finalizers);
  assert.deepEqual(renewed.metadata.finalizers?.toSorted(), found.metadata.finalizers?.toSorted());
  await protection.protect(renewed, signal);
  assert.equal((await read()).metadata.resourceVersion, renewed.metadata.resourceVersion, 'its own now');
  protection.forgetHeld();
  await protection.protect(renewed, signal);
  assert.notEqual((await read()).metadata.resourceVersion, renewed.metadata.resourceVersion);
});
