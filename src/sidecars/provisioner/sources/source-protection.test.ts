// When sources of restores and clones lose their protection, on a real API server.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import {
  customResourceDefinitions,
  leases,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type VolumeSnapshot,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { isNewer } from '../../../api/resource-version.ts';
import {
  ANN_PROVISIONING_INTENTS,
  ANN_SELECTED_NODE,
  ANN_STORAGE_PROVISIONER,
  FINALIZER_CLONE_PROTECTION,
  FINALIZER_PROVISIONING,
  FINALIZER_SNAPSHOT_SOURCE_PROTECTION,
} from '../../../api/well-known.ts';
import { testServer } from '../../../apiserver/testing/test-server.ts';
import type { ControllerCapability } from '../../../csi/messages/capabilities.ts';
import { parseDriverName } from '../../../csi/names/driver-name.ts';
import { createInformers } from '../../../runtime/informer/create-informers.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../../runtime/log/log.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import { ledgerName } from '../intents/intent-ledger.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import { createCloneProtection, indexPendingBySource } from './clone-protection.ts';
import { sourceKeyOf } from './data-source.ts';
import { findSource } from './find-source.ts';
import { createSnapshotProtection } from './snapshot-protection.ts';

const SNAPSHOTS = 'snapshot.storage.k8s.io';
const restoring = (snapshot: string): PersistentVolumeClaim =>
  ({
    metadata: { name: 'new', namespace: 'default', annotations: { [ANN_STORAGE_PROVISIONER]: 'd' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      dataSource: { apiGroup: SNAPSHOTS, kind: 'VolumeSnapshot', name: snapshot },
    },
  }) as unknown as PersistentVolumeClaim;
const restores = restoring('s');

async function snapshotWorld(
  t: TestContext,
  given: {
    finalizers?: string[];
    capabilities?: ControllerCapability[];
    intervalMs?: number;
    nodeName?: string;
    /** Whether claims are in the share of this replica. */
    isOwner?: boolean;
  } = {},
) {
  const server = await testServer(t);
  const admin = server.client(server.adminUser);
  for (const plural of ['volumesnapshots', 'volumesnapshotcontents']) {
    const crd = new URL(`../../../../deploy/crds/snapshot.storage.k8s.io_${plural}.yaml`, import.meta.url);
    await admin.create(customResourceDefinitions, parse(await readFile(crd, 'utf8')));
  }
  const finalizers = given.finalizers ?? [FINALIZER_SNAPSHOT_SOURCE_PROTECTION];
  const name = { name: 's', namespace: 'default' };
  const made = await admin.create(volumeSnapshots, {
    metadata: { ...name, finalizers },
    spec: { source: { persistentVolumeClaimName: 'c' } },
  });
  const log = memoryLog();
  const asked: string[] = [];
  const pending: PersistentVolumeClaim[] = [];
  /** Ends of the pauses between sweeps, which the test decides. */
  const pauses: (() => void)[] = [];
  let paused = Promise.withResolvers<number>();
  const clock = {
    ...realClock,
    sleep(ms: number, signal?: AbortSignal) {
      paused.resolve(ms);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      signal?.addEventListener('abort', () => reject(signal.reason));
      pauses.push(resolve);
      return promise;
    },
  };
  let laterMs = 0;
  /** The loop never waits, and looks at the time again and again. */
  const loopClock = {
    ...realClock,
    monotonicMs: () => realClock.monotonicMs() + laterMs,
    setTimeout: (run: () => void) => realClock.setTimeout(run, 0),
  };
  const stop = new AbortController();
  t.after(() => stop.abort());
  const informers = createInformers({
    kube: admin,
    clock: realClock,
    random: seededRandom('snapshots'),
    log,
  });
  const context = (kube: KubeClient) =>
    ({
      kube,
      clock,
      log,
      informers,
      nodeName: given.nodeName,
      namespace: 'default',
      ...(given.isOwner !== undefined && { shares: { owns: () => given.isOwner } }),
      loop: { clock: loopClock, random: seededRandom('snapshots'), log, workers: 1 },
      driver: { name: 'd', controller: new Set(given.capabilities ?? ['CREATE_DELETE_SNAPSHOT']) },
      flags: { snapshotOrphanSweepIntervalMs: given.intervalMs ?? 1000 },
    }) as unknown as ProvisionerContext;
  const later = { name: 'later', namespace: 'default' };
  const protection = (kube: KubeClient = admin) =>
    createSnapshotProtection(context(kube), (key) => {
      asked.push(key);
      return pending.filter((claim) => sourceKeyOf(claim) === key);
    });
  const informerOfSnapshots = informers.of(volumeSnapshots);
  /** The loop has one worker: when the snapshot that it looks at last has lost its finalizer, it is done with the others. */
  async function upToNow(look: (claim: PersistentVolumeClaim) => void): Promise<void> {
    await admin.create(volumeSnapshots, {
      metadata: { ...later, finalizers: [FINALIZER_SNAPSHOT_SOURCE_PROTECTION] },
      spec: { source: { persistentVolumeClaimName: 'c' } },
    });
    look(restoring('later'));
    const isReleased = (each: VolumeSnapshot | undefined): boolean => each?.metadata.finalizers === undefined;
    await informerOfSnapshots.waitFor(
      'default/later',
      (each) => each !== undefined && isReleased(each),
      AbortSignal.timeout(20_000),
    );
  }
  return {
    ...{ admin, log, asked, pending, protection },
    /** Looks at the sources of these claims. */
    async look(...claims: PersistentVolumeClaim[]) {
      const snapshots = protection();
      informers.start(stop.signal);
      await informers.synced(stop.signal);
      void snapshots.run(stop.signal);
      for (const claim of claims) snapshots.lookAtSourceOf(claim);
      await upToNow(snapshots.lookAtSourceOf);
    },
    /** The protection runs, a claim is made and deleted. */
    async lose(claim: PersistentVolumeClaim) {
      const snapshots = protection();
      informers.start(stop.signal);
      await informers.synced(stop.signal);
      void snapshots.run(stop.signal);
      await admin.create(persistentVolumeClaims, claim);
      await admin.patch(
        persistentVolumeClaims,
        { name: claim.metadata.name, namespace: 'default' },
        { metadata: { finalizers: null } },
        { type: 'merge' },
      );
      await admin.delete(persistentVolumeClaims, { name: claim.metadata.name, namespace: 'default' });
      const isGone = (each: PersistentVolumeClaim | undefined): boolean => each === undefined;
      await informers.of(persistentVolumeClaims).waitFor(keyOf(claim), isGone, AbortSignal.timeout(20_000));
      await upToNow(snapshots.lookAtSourceOf);
    },
    /** A protection that was sent before takes effect now; resolves when it is gone again. */
    async protectedLate(afterMs: number) {
      const both = [...finalizers, FINALIZER_SNAPSHOT_SOURCE_PROTECTION];
      const late = await admin.patch(
        volumeSnapshots,
        name,
        { metadata: { finalizers: both } },
        { type: 'merge' },
      );
      laterMs += afterMs;
      const isReleased = ({ metadata }: VolumeSnapshot) =>
        isNewer(metadata.resourceVersion, late.metadata.resourceVersion) &&
        !metadata.finalizers?.includes(FINALIZER_SNAPSHOT_SOURCE_PROTECTION);
      await informerOfSnapshots.waitFor(
        'default/s',
        (each) => each !== undefined && isReleased(each),
        AbortSignal.timeout(20_000),
      );
    },
    /** How long it waits for the next one. */
    async swept() {
      const ms = await paused.promise;
      paused = Promise.withResolvers();
      return ms;
    },
    sweepAgain: () => pauses.shift()?.(),
    /** Binds the snapshot to a content of this driver. */
    async bindTo(driver: string) {
      await admin.create(volumeSnapshotContents, {
        metadata: { name: 'content' },
        spec: {
          driver,
          deletionPolicy: 'Delete',
          source: { snapshotHandle: 'h' },
          volumeSnapshotRef: { ...name, uid: made.metadata.uid },
        },
      });
      const status = { boundVolumeSnapshotContentName: 'content', readyToUse: true };
      await admin.patch(volumeSnapshots, name, { status }, { type: 'merge', subresource: 'status' });
    },
    finalizers: async () => (await admin.get(volumeSnapshots, name)).metadata.finalizers ?? [],
    isUnwritten: async () =>
      (await admin.get(volumeSnapshots, name)).metadata.resourceVersion === made.metadata.resourceVersion,
  };
}

const { signal } = new AbortController();

test('[PROV-7] a snapshot loses its protection after the restore, and only that', async (t) => {
  const world = await snapshotWorld(t, { finalizers: ['test/a', FINALIZER_SNAPSHOT_SOURCE_PROTECTION] });
  await world.look(restores);
  assert.deepEqual(await world.finalizers(), ['test/a']);
  assert.deepEqual(world.asked, ['snapshot:default/s', 'snapshot:default/later']);
});

test('[PROV-7] a snapshot loses its protection when the claim that restores it is deleted without a volume', async (t) => {
  const world = await snapshotWorld(t);
  await world.lose(restores);
  assert.deepEqual(await world.finalizers(), []);
});

for (const [what, provisioner, nodeName] of [
  ['of another driver', 'other', undefined],
  ['that may be the work of another node', 'd', 'n1'],
] as const) {
  test(`[PROV-7] a snapshot keeps its protection when a claim ${what} is deleted without a volume`, async (t) => {
    const world = await snapshotWorld(t, { ...(nodeName !== undefined && { nodeName }) });
    const annotations = { [ANN_STORAGE_PROVISIONER]: provisioner };
    await world.lose({ ...restores, metadata: { ...restores.metadata, annotations } });
    assert.deepEqual(await world.finalizers(), [FINALIZER_SNAPSHOT_SOURCE_PROTECTION]);
  });
}

for (const isOwner of [true, false]) {
  const of = isOwner ? 'this replica' : 'another replica';
  test(`[PROV-7] [SCL-1] a snapshot loses its protection when a claim of ${of} is deleted without a volume`, async (t) => {
    const world = await snapshotWorld(t, { isOwner });
    await world.lose(restores);
    assert.deepEqual(await world.finalizers(), []);
  });
}

test('[PROV-7] [SCL-1] a snapshot keeps its protection while another replica may repeat a call for a claim that has its volume', async (t) => {
  const world = await snapshotWorld(t, { isOwner: false });
  await world.admin.create(persistentVolumeClaims, {
    metadata: { ...restores.metadata, namespace: 'default', finalizers: [FINALIZER_PROVISIONING] },
    spec: { ...restores.spec, volumeName: 'pv' },
  });
  await world.look(restores);
  assert.deepEqual(await world.finalizers(), [FINALIZER_SNAPSHOT_SOURCE_PROTECTION]);
});

test('[PROV-7] [SCL-1] a snapshot keeps its protection while the ledger has an intent for a claim that is gone', async (t) => {
  const world = await snapshotWorld(t, { isOwner: false });
  const intent = { name: 'gone', namespace: 'default', uid: 'u', spec: restores.spec };
  const annotations = { [ANN_PROVISIONING_INTENTS]: JSON.stringify({ writes: 1, intents: [intent] }) };
  await world.admin.create(leases, {
    metadata: { name: ledgerName(parseDriverName('d')), namespace: 'default', annotations },
    spec: { holderIdentity: 'd' },
  });
  await world.look(restores);
  assert.deepEqual(await world.finalizers(), [FINALIZER_SNAPSHOT_SOURCE_PROTECTION]);
});

for (const [driver, left] of [
  ['d', []],
  ['other', [FINALIZER_SNAPSHOT_SOURCE_PROTECTION]],
] as const) {
  test(`[PROV-7] the sweep of driver d and a snapshot of driver ${driver}`, async (t) => {
    const world = await snapshotWorld(t);
    await world.bindTo(driver);
    const stop = new AbortController();
    const running = world.protection().runSweep(stop.signal);
    await world.swept();
    assert.deepEqual(await world.finalizers(), left);
    stop.abort();
    await running;
  });
}

for (const [what, nodeName] of [
  ['with its volume', undefined],
  ['on this node', 'n1'],
] as const) {
  test(`[PROV-7] a snapshot loses its protection when a claim is deleted ${what}, because its intent may have gone with it`, async (t) => {
    const world = await snapshotWorld(t, { ...(nodeName !== undefined && { nodeName }) });
    const annotations = { ...restores.metadata.annotations, [ANN_SELECTED_NODE]: 'n1' };
    await world.lose({
      ...restores,
      metadata: { ...restores.metadata, annotations },
      spec: { ...restores.spec, volumeName: 'pv' },
    });
    assert.deepEqual(await world.finalizers(), []);
  });
}

test('[PROV-7] a snapshot keeps its protection while another claim restores from it', async (t) => {
  const world = await snapshotWorld(t);
  world.pending.push(restores);
  await world.look(restores);
  assert.deepEqual(await world.finalizers(), [FINALIZER_SNAPSHOT_SOURCE_PROTECTION]);
});

test('[PROV-7] a snapshot without protection is not written, nor a source that is none', async (t) => {
  const world = await snapshotWorld(t, { finalizers: ['test/a'] });
  const clone = { ...restores, spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 's' } } };
  await world.look(restores, clone as PersistentVolumeClaim, { ...restores, spec: {} });
  assert.ok(await world.isUnwritten());
  assert.deepEqual(world.asked, ['snapshot:default/later']);
});

test('[PROV-7] a snapshot whose protection takes effect only after the look loses it half a minute later', async (t) => {
  const world = await snapshotWorld(t, { finalizers: ['test/a'] });
  await world.look(restores);
  await world.protectedLate(30_000);
  assert.deepEqual(await world.finalizers(), ['test/a']);
});

test('[PROV-7] a snapshot that is gone needs no protection', async (t) => {
  const world = await snapshotWorld(t);
  await world.look(restoring('gone'));
  assert.deepEqual(world.asked, ['snapshot:default/later']);
  assert.doesNotMatch(world.log.text(), /retry|again/);
});

test('[PROV-7] the sweep removes leftovers, at its start and at intervals, until it is stopped', async (t) => {
  const world = await snapshotWorld(t, { intervalMs: 300_000 });
  world.pending.push(restores);
  const stop = new AbortController();
  const running = world.protection().runSweep(stop.signal);
  assert.equal(await world.swept(), 30_000, 'the process before may have protected a snapshot late');
  assert.deepEqual(await world.finalizers(), [FINALIZER_SNAPSHOT_SOURCE_PROTECTION]);
  world.pending.pop();
  world.sweepAgain();
  assert.equal(await world.swept(), 300_000);
  assert.deepEqual(await world.finalizers(), []);
  stop.abort();
  await running;
});

for (const given of [{ capabilities: [] }, { intervalMs: 0 }]) {
  test(`[PROV-7] there is no sweep with ${JSON.stringify(given)}`, async (t) => {
    const world = await snapshotWorld(t, given);
    await world.protection().runSweep(signal);
    assert.ok(await world.isUnwritten());
  });
}

for (const [reason, code, isTold] of [
  ['NotFound', 404, false],
  ['Forbidden', 403, false],
  ['InternalError', 500, true],
] as const) {
  test(`[PROV-7] a sweep that is answered ${reason} is ${isTold ? 'logged' : 'not worth a line'}, and tried again`, async (t) => {
    const world = await snapshotWorld(t, { intervalMs: 300_000 });
    let refuses = true;
    const kube = {
      list: (...args: Parameters<KubeClient['list']>) => {
        if (!refuses) return world.admin.list(...args);
        refuses = false;
        return Promise.reject(new KubeError({ reason, code, message: 'no' }));
      },
      patch: world.admin.patch.bind(world.admin),
      update: world.admin.update.bind(world.admin),
      get: world.admin.get.bind(world.admin),
    } as unknown as KubeClient;
    const stop = new AbortController();
    const running = world.protection(kube).runSweep(stop.signal);
    assert.equal(await world.swept(), isTold ? 10_000 : 300_000);
    assert.equal(/Could not sweep/.test(world.log.text()), isTold);
    world.sweepAgain();
    await world.swept();
    assert.deepEqual(await world.finalizers(), []);
    stop.abort();
    await running;
  });
}

/** Claims, with the protection of clone sources running. */
async function cloneWorld(t: TestContext) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const stop = new AbortController();
  const [clock, random, log] = [realClock, seededRandom('clones'), memoryLog()];
  const informers = createInformers({ kube, clock, random, log });
  const claims = informers.of(persistentVolumeClaims);
  let denied: string | undefined;
  let granted: (namespace: string) => void = () => {};
  const grants = {
    allows: (claim: PersistentVolumeClaim) => claim.metadata.name !== denied,
    subscribe: (listener: typeof granted) => {
      granted = listener;
      return () => {};
    },
  };
  const loop = { clock, random, log, workers: 1 };
  const driver = { name: 'd' };
  const context = { kube, informers, grants, loop, driver, flags: { cloningProtectionThreads: 1 } };
  /** For which calls may still be repeated, although they are gone. */
  const open: PersistentVolumeClaim[] = [];
  const pending = indexPendingBySource({ informers, grants } as unknown as ProvisionerContext);
  const protection = createCloneProtection(context as unknown as ProvisionerContext, (key) => [
    ...pending(key),
    ...open,
  ]);
  informers.start(stop.signal);
  await informers.synced(stop.signal);
  const running = protection.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running.catch(() => {});
  });
  const name = (claim: string) => ({ name: claim, namespace: 'default' });
  return {
    ...{ kube, open },
    over(claim: PersistentVolumeClaim) {
      open.length = 0;
      protection.lookAtSourceOf(claim);
    },
    deny(claim: string, namespace: string) {
      denied = claim;
      granted(namespace);
    },
    make: (claim: string, spec: object = {}, finalizers: string[] = []) =>
      kube.create(persistentVolumeClaims, {
        metadata: { ...name(claim), finalizers },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
      }),
    patch: (claim: string, change: object) =>
      kube.patch(persistentVolumeClaims, name(claim), change, { type: 'merge' }),
    /** Deletes it, without the finalizer that the API server adds. */
    async remove(claim: string) {
      const metadata = { finalizers: [FINALIZER_CLONE_PROTECTION] };
      await kube.patch(persistentVolumeClaims, name(claim), { metadata }, { type: 'merge' });
      await kube.delete(persistentVolumeClaims, name(claim));
    },
    volume: (name: string) =>
      informers
        .of(persistentVolumes)
        .waitFor(name, (each) => each !== undefined, AbortSignal.timeout(20_000)),
    gone: (claim: string) =>
      claims.waitFor(`default/${claim}`, (each) => each === undefined, AbortSignal.timeout(20_000)),
    isThere: (claim: string) =>
      kube.get(persistentVolumeClaims, name(claim)).then(
        () => true,
        () => false,
      ),
  };
}

const cloneOf = (source: string) => ({ dataSource: { kind: 'PersistentVolumeClaim', name: source } });
/** Kept by the server until the finalizers are gone. */
const PROTECTED = [FINALIZER_CLONE_PROTECTION];

test('[PROV-7] a source that is deleted goes when the last pending clone is bound or gone', async (t) => {
  const world = await cloneWorld(t);
  for (const source of ['a', 'b', 'c']) await world.make(source, {}, PROTECTED);
  await world.make('of-a', cloneOf('a'));
  await world.make('of-b', cloneOf('b'));
  await world.make('also-of-b', cloneOf('b'));
  for (const source of ['a', 'b', 'c']) await world.remove(source);
  await world.gone('c');
  await world.patch('of-a', { spec: { volumeName: 'pv' } });
  await world.gone('a');
  await world.patch('of-b', { metadata: { finalizers: null } });
  await world.kube.delete(persistentVolumeClaims, { name: 'of-b', namespace: 'default' });
  await world.gone('of-b');
  assert.equal(await world.isThere('b'), true, 'another clone of it is pending');
  await world.patch('also-of-b', { spec: { volumeName: 'pv' } });
  await world.gone('b');
});

test('[PROV-7] a source stays while a call for a clone that has its volume may be repeated', async (t) => {
  const world = await cloneWorld(t);
  await world.make('source', {}, PROTECTED);
  await world.make('clone', cloneOf('source'), [FINALIZER_PROVISIONING]);
  await world.patch('clone', { spec: { volumeName: 'pv' } });
  await world.remove('source');
  // Goes when the protection has looked at both.
  await world.make('other', {}, PROTECTED);
  await world.remove('other');
  await world.gone('other');
  assert.equal(await world.isThere('source'), true);
  await world.patch('clone', { metadata: { finalizers: null } });
  await world.gone('source');
});

test('[PROV-7] a source stays until nothing is left of the attempt for a clone that is gone', async (t) => {
  const world = await cloneWorld(t);
  await world.make('source', {}, PROTECTED);
  const clone = await world.make('clone', cloneOf('source'));
  world.open.push(clone);
  await world.patch('clone', { metadata: { finalizers: null } });
  await world.kube.delete(persistentVolumeClaims, { name: 'clone', namespace: 'default' });
  await world.gone('clone');
  await world.remove('source');
  assert.equal(await world.isThere('source'), true);
  world.over(clone);
  await world.gone('source');
});

test('[PROV-7] a source of another driver is left to that one', async (t) => {
  const world = await cloneWorld(t);
  await world.kube.create(persistentVolumes, {
    metadata: { name: 'foreign' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'other', volumeHandle: 'h' },
    },
  });
  await world.volume('foreign');
  await world.make('source', { volumeName: 'foreign' }, PROTECTED);
  await world.remove('source');
  await world.make('later', {}, PROTECTED);
  await world.remove('later');
  await world.gone('later');
  assert.equal(await world.isThere('source'), true);
});

test('[PROV-7] a source that is not deleted keeps its protection', async (t) => {
  const world = await cloneWorld(t);
  await world.make('kept', {}, PROTECTED);
  await world.make('clone', cloneOf('kept'));
  await world.patch('clone', { spec: { volumeName: 'pv' } });
  // One that is done later shows that the loop has been at the first.
  await world.make('later', {}, PROTECTED);
  await world.remove('later');
  await world.gone('later');
  const { items } = await world.kube.list(persistentVolumeClaims);
  const kept = items.find(({ metadata }) => metadata.name === 'kept');
  assert.ok(kept?.metadata.finalizers?.includes(FINALIZER_CLONE_PROTECTION));
});

test('[POP-2] a source goes when the grant of the last pending clone is withdrawn', async (t) => {
  const world = await cloneWorld(t);
  await world.make('source', {}, PROTECTED);
  await world.make('clone', cloneOf('source'));
  await world.remove('source');
  world.deny('clone', 'other');
  await world.make('later', {}, PROTECTED);
  await world.remove('later');
  await world.gone('later');
  assert.equal(await world.isThere('source'), true, 'grants in another namespace concern other sources');
  world.deny('clone', 'default');
  await world.gone('source');
});

for (const [reason, code, isFatal] of [
  ['Forbidden', 403, false],
  ['InternalError', 500, true],
] as const) {
  test(`[PROV-7] a snapshot that may not be protected (${reason}) is ${isFatal ? 'not used' : 'used all the same'}`, async () => {
    const name = { name: 's', namespace: 'default' };
    const snapshot = {
      metadata: { ...name, uid: 'u', resourceVersion: '1' },
      status: { readyToUse: true, boundVolumeSnapshotContentName: 'c' },
    };
    const content = {
      metadata: { name: 'c' },
      spec: { driver: 'd', volumeSnapshotRef: { ...name, uid: 'u' } },
      status: { snapshotHandle: 'h' },
    };
    const refuse = () => Promise.reject(new KubeError({ reason, code, message: 'no' }));
    const kube = {
      get: async ({ kind }: { kind: string }) => (kind === 'VolumeSnapshot' ? snapshot : content),
      patch: refuse,
      update: refuse,
    };
    const driver = { name: 'd', controller: new Set(['CREATE_DELETE_SNAPSHOT']) };
    const flags = { preventVolumeModeConversion: true };
    const context = { kube, log: memoryLog(), driver, flags } as never;
    const found = await findSource(context, restores, { kind: 'snapshot', ...name }, signal);
    assert.deepEqual(found.content, { kind: 'snapshot', id: 'h' });
    if (isFatal) await assert.rejects(found.protect(), /no/);
    else await found.protect();
  });
}
