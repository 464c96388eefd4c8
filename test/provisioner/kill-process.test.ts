import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  type Lease,
  leases,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../../src/api/kinds.ts';
import {
  FINALIZER_PROVISIONING,
  FINALIZER_PV_PROTECTION,
  FINALIZER_PVC_PROTECTION,
} from '../../src/api/well-known.ts';
import { createBinder } from '../../src/control-plane/binder/binder.ts';
import { parseDriverName } from '../../src/csi/names/driver-name.ts';
import { ScriptedDriver } from '../../src/csi/testing/scripted-driver.ts';
import { createEventRecorder } from '../../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { removeFinalizer } from '../../src/runtime/kube/finalizers.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { ledgerName, pageOf } from '../../src/sidecars/provisioner/intents/intent-ledger.ts';
import { type SidecarProcess, sidecarRig } from '../../src/sidecars/testing/sidecar-rig.ts';

const DRIVER = parseDriverName('scripted.csi.test');
const within = () => AbortSignal.timeout(30_000);
const LEDGER = `default/${ledgerName(DRIVER)}`;
const hasIntent = (claim: PersistentVolumeClaim | undefined) =>
  claim?.metadata.finalizers?.includes(FINALIZER_PROVISIONING) ?? false;
const intentsOf = (lease: Lease | undefined) => pageOf(lease).entries;

async function machine(t: TestContext) {
  const rig = await sidecarRig(t);
  const { admin: kube } = rig;
  const driver = new ScriptedDriver({ name: DRIVER });
  await rig.serve(driver);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const common = { kube, clock: realClock, random: seededRandom('kill'), log: silentLog };
  const informers = createInformers(common);
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const ledger = informers.of(leases);
  claims.subscribe({
    updated(_before, object) {
      const finalizer = FINALIZER_PVC_PROTECTION;
      if (!object.metadata.deletionTimestamp) return;
      removeFinalizer({ kube, resource: persistentVolumeClaims, object, finalizer }).catch(() => {});
    },
  });
  volumes.subscribe({
    updated(_before, object) {
      const finalizer = FINALIZER_PV_PROTECTION;
      if (!object.metadata.deletionTimestamp) return;
      removeFinalizer({ kube, resource: persistentVolumes, object, finalizer }).catch(() => {});
    },
  });
  const recorder = createEventRecorder({ ...common, component: 'binder', signal: stop.signal });
  const binder = createBinder({ ...common, informers, recorder });
  informers.start(stop.signal);
  await informers.synced(within());
  const binding = binder.run(stop.signal).catch(() => {});
  t.after(async () => {
    stop.abort();
    await binding;
  });
  await kube.create(storageClasses, { metadata: { name: 'fast' }, provisioner: DRIVER });
  return {
    rig,
    kube,
    driver,
    claims,
    volumes,
    ledger,
    makeClaim: (name: string) =>
      kube.create(persistentVolumeClaims, {
        metadata: { name, namespace: 'default' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'fast',
          resources: { requests: { storage: '1Gi' } },
        },
      }),
  };
}

type Machine = Awaited<ReturnType<typeof machine>>;

/** When the process is killed, for the claim of this name. Resolves at that moment. */
const moments: { name: string; come(machine: Machine, claim: string): Promise<unknown> }[] = [
  {
    name: 'the intent is written',
    come: ({ ledger }, claim) =>
      ledger.waitFor(LEDGER, (each) => intentsOf(each).some(({ name }) => name === claim), within()),
  },
  {
    name: 'CreateVolume arrives',
    come: ({ driver }) => {
      const before = driver.callsOf('CreateVolume').length;
      return driver.until(() => driver.callsOf('CreateVolume').length > before);
    },
  },
  {
    name: 'the driver has made the volume',
    come: ({ driver }) => {
      const before = driver.volumes.size;
      return driver.until(() => driver.volumes.size > before);
    },
  },
  {
    name: 'the PersistentVolume is there',
    come: async ({ claims, volumes }, claim) => {
      const made = await claims.waitFor(`default/${claim}`, (each) => each !== undefined, within());
      await volumes.waitFor(`pvc-${made?.metadata.uid}`, (each) => each !== undefined, within());
    },
  },
  {
    name: 'the claim is bound',
    come: ({ claims }, claim) =>
      claims.waitFor(`default/${claim}`, (each) => each?.status?.phase === 'Bound', within()),
  },
  {
    name: 'a call has come to no end, and the claim keeps the intent',
    come: ({ driver, claims }, claim) => {
      driver.script('CreateVolume', { failAfter: 'DEADLINE_EXCEEDED' });
      return claims.waitFor(`default/${claim}`, hasIntent, within());
    },
  },
];

async function killed({ child, exit }: SidecarProcess): Promise<void> {
  child.kill('SIGKILL');
  await exit;
}

test('[PROV-5] [SIDE-5] the process killed with -9 at each moment leaves one volume a claim and none without', {
  timeout: 150_000,
}, async (t) => {
  const world = await machine(t);
  const { rig, kube, driver, claims, volumes, ledger } = world;
  const argv = ['--retry-interval-start=20ms', '--leader-election', '--leader-election-namespace=default'];
  // The dead leader's lease is waited for; short, so that the test is too, and not so short that a busy machine ends it.
  argv.push('--leader-election-lease-duration=1s', '--leader-election-renew-deadline=900ms');
  argv.push('--leader-election-retry-period=50ms');
  let provisioner = rig.spawn('provisioner', argv);
  for (const [index, moment] of moments.entries()) {
    for (const isDeleted of [false, true]) {
      const claim = `data-${index}-${isDeleted ? 'deleted' : 'kept'}`;
      const came = moment.come(world, claim);
      await world.makeClaim(claim);
      await came;
      await killed(provisioner);
      if (isDeleted) await kube.delete(persistentVolumeClaims, { name: claim, namespace: 'default' });
      provisioner = rig.spawn('provisioner', argv);
      if (isDeleted) await claims.waitFor(`default/${claim}`, (each) => each === undefined, within());
      else {
        const isDone = (each: PersistentVolumeClaim | undefined) =>
          each?.status?.phase === 'Bound' && !hasIntent(each);
        await claims.waitFor(`default/${claim}`, isDone, within());
      }
      for (const { metadata, spec } of volumes.list()) {
        if (isDeleted && spec.claimRef?.name === claim) {
          await volumes.waitFor(metadata.name, (each) => each === undefined, within());
        }
      }
      await ledger.waitFor(LEDGER, (each) => intentsOf(each).length === 0, within());
      const wanted = claims.list().map((each) => `vol-pvc-${each.metadata.uid}`);
      assert.deepEqual([...driver.volumes.keys()].sort(), wanted.sort(), `${moment.name}, ${claim}`);
    }
  }
});
