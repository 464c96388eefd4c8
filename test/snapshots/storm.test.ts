// Snapshots made and deleted at random while calls to the API server and to the driver fail before or after they were
// done, watches lag, and both components are killed and replaced. When it is over: what should be there is there once, what
// should be gone is gone everywhere, nothing was deleted that somebody had not let go of, and no secret was shown.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  persistentVolumeClaims,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import { FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE } from '../../src/api/well-known.ts';
import { unreliable } from '../../src/control-plane/testing/unreliable.ts';
import type { Behaviour } from '../../src/csi/testing/scripted-driver.ts';
import { lagging } from '../../src/runtime/informer/testing/lagging.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { isNotFound } from '../../src/runtime/kube/kube-error.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import type { GrpcCode } from '../../src/wire/grpc/grpc-code.ts';
import { makeSecret, type Running, snapshotWorld, type World, within } from './world.ts';

const SEEDS = 16;
const SNAPSHOTS = 6;
const STEPS = 40;
/** By which nobody knows what was done; and by which it was not done. */
const UNKNOWN: GrpcCode[] = ['DEADLINE_EXCEEDED', 'UNAVAILABLE', 'ABORTED'];
const REFUSED: GrpcCode[] = [...UNKNOWN, 'INTERNAL', 'RESOURCE_EXHAUSTED'];
const named = (name: string) => ({ name, namespace: 'default' });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function orGone(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** What DeleteSnapshot is asked for must have been let go of by its snapshot, as the server knows it. */
function watchDeletions(world: World): string[] {
  const wrong: string[] = [];
  let seen = 0;
  void world.driver.until(() => {
    for (const { method, request } of world.driver.calls.slice(seen)) {
      seen++;
      if (method !== 'DeleteSnapshot') continue;
      const { snapshotId } = request as unknown as { snapshotId: string };
      for (const snapshot of world.server.reader.list(volumeSnapshots)) {
        const isOwner = snapshotId.endsWith(snapshot.metadata.uid);
        if (isOwner && !snapshot.metadata.deletionTimestamp) wrong.push(`${snapshotId} was in use`);
      }
    }
    return false;
  });
  return wrong;
}

async function storm(t: TestContext, seed: number): Promise<void> {
  const random = seededRandom(`storm ${seed}`);
  const world = await snapshotWorld(t);
  await makeSecret(world.admin, ['default', 'secret'], { password: 'not-to-be-shown' });
  await world.makeBoundClaim('data');
  const prefix = 'csi.storage.k8s.io/snapshotter-secret';
  const parameters = { [`${prefix}-name`]: 'secret', [`${prefix}-namespace`]: 'default' };
  await world.makeClass({ parameters });
  await world.makeClass({ parameters, deletionPolicy: 'Retain' }, { name: 'kept' });
  const wrong = watchDeletions(world);

  const broken = unreliable(random);
  const lags = [lagging(volumeSnapshots), lagging(volumeSnapshotContents), lagging(persistentVolumeClaims)];
  const through = ({ kube }: { kube: KubeClient }) => ({
    kube: lags.reduce((inner, lag) => lag.faults(inner), broken.faults(kube)),
  });
  const start = () =>
    Promise.all([
      world.startController({ through, abandoned: true }),
      world.startSnapshotter({ through, abandoned: true }),
    ]);
  let running: Running[] = await start();

  const oneOf = (codes: GrpcCode[]) => codes[random.int(codes.length)] as GrpcCode;
  const misbehave = (): Behaviour => {
    const fate = random.next();
    if (fate < 0.2) return { fail: oneOf(REFUSED) };
    return fate < 0.45 ? { failAfter: oneOf(UNKNOWN), message: 'with not-to-be-shown' } : {};
  };
  const alive = new Map<string, boolean>();
  let made = 0;
  for (let step = 0; step < STEPS; step++) {
    for (const method of ['CreateSnapshot', 'DeleteSnapshot']) world.driver.script(method, misbehave());
    world.driver.snapshotsAreReady = random.next() < 0.7;
    const deed = random.next();
    const names = [...alive.keys()];
    const victim = names[random.int(Math.max(1, names.length))];
    if (deed < 0.3 && made < SNAPSHOTS) {
      const name = `s${made++}`;
      const isKept = random.next() < 0.3;
      await world.makeSnapshot(name, isKept ? { volumeSnapshotClassName: 'kept' } : {});
      alive.set(name, isKept);
    } else if (deed < 0.45 && victim !== undefined) {
      await world.admin.delete(volumeSnapshots, named(victim));
      alive.delete(victim);
    } else if (deed < 0.6) {
      lags[random.int(lags.length)]?.hold();
    } else if (deed < 0.75) {
      for (const lag of lags) lag.release();
    } else if (deed < 0.85) {
      for (const each of running) await each.stop();
      running = await start();
    } else if (deed < 0.9) {
      for (const snapshot of world.driver.snapshots.values()) snapshot.ready = true;
    }
    await pause(random.int(8));
  }

  // Calm, but for what the driver still has in store: what is wanted comes about.
  broken.stop();
  for (const lag of lags) lag.release();
  world.driver.snapshotsAreReady = true;
  const settle = () => {
    for (const snapshot of world.driver.snapshots.values()) snapshot.ready = true;
  };
  settle();
  const settling = setInterval(settle, 10);
  t.after(() => clearInterval(settling));
  for (const each of running) await each.stop();
  world.startController({ options: { resyncMs: 200 } });
  await world.startSnapshotter({ options: { resyncMs: 200 } });
  for (const name of alive.keys()) await world.ready(name);
  for (let each = 0; each < made; each++) if (!alive.has(`s${each}`)) await world.snapshotGone(`s${each}`);
  // Also the class may go now.
  await world.admin.delete(volumeSnapshotClasses, { name: 'fast' });
  const handles = () => world.contents.list().map(({ status }) => status?.snapshotHandle ?? 'none');
  for (const { metadata } of world.contents.list()) {
    await world.content(metadata.name, (each) => each === undefined || each.status?.readyToUse === true);
  }
  assert.deepEqual(handles().toSorted(), [...world.driver.snapshots.keys()].toSorted());

  for (const name of alive.keys()) await world.admin.delete(volumeSnapshots, named(name));
  for (const name of alive.keys()) await world.snapshotGone(name);
  for (const { metadata, spec } of world.contents.list()) {
    if (spec.deletionPolicy === 'Retain') {
      await orGone(world.admin.delete(volumeSnapshotContents, { name: metadata.name }));
    }
    await world.content(metadata.name, (each) => each === undefined);
  }
  await world.claims.waitFor(
    'default/data',
    (claim) => !claim?.metadata.finalizers?.includes(FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE),
    within(),
  );
  // What is left on the storage is what was to be kept.
  const deleted = new Set(
    world.driver.callsOf<{ snapshotId: string }>('DeleteSnapshot').map((each) => each.snapshotId),
  );
  for (const id of world.driver.snapshots.keys()) assert.ok(!deleted.has(id), `${id} is still there`);
  assert.deepEqual(wrong, []);
  const shown = [world.snapshots, world.contents, world.events].map((each) => JSON.stringify(each.list()));
  assert.doesNotMatch(`${shown}${world.log.text()}`, /not-to-be-shown/);
}

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`[SIDE-2] [SEC-1] a storm, seed ${seed}`, (t) => storm(t, seed));
}
