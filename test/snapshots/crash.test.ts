// The snapshot controller, and the snapshotter, crash before and after each of their calls, to the API server and to the
// driver, and another one takes over: at the end there is one snapshot, or none, and nothing is left behind.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { volumeSnapshots } from '../../src/api/kinds.ts';
import { FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE } from '../../src/api/well-known.ts';
import { Crash } from '../../src/sidecars/testing/crash.ts';
import { type Component, components, other, start } from './crashing.ts';
import { snapshotWorld, type World, within } from './world.ts';

const SNAP = { name: 'snap', namespace: 'default' };

async function prepared(t: TestContext): Promise<World> {
  const world = await snapshotWorld(t);
  await world.makeBoundClaim('data');
  await world.makeClass();
  return world;
}

const claimIsFree = (world: World) =>
  world.claims.waitFor(
    'default/data',
    (claim) => !claim?.metadata.finalizers?.includes(FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE),
    within(),
  );

async function nothingIsLeft(world: World): Promise<void> {
  await world.snapshotGone('snap');
  for (const content of world.contents.list()) {
    await world.content(content.metadata.name, (each) => each === undefined);
  }
  await claimIsFree(world);
  assert.equal(world.driver.snapshots.size, 0);
}

/** Brings the snapshot to the beginning of the phase, with both at work and stopped again. */
async function begin(world: World, phase: 'making' | 'deleting'): Promise<void> {
  if (phase === 'making') {
    await world.makeSnapshot('snap');
    return;
  }
  const both = await Promise.all([start(world, 'controller'), start(world, 'snapshotter')]);
  await world.makeSnapshot('snap');
  await world.ready('snap');
  await claimIsFree(world);
  await world.content(
    world.contents.list()[0]?.metadata.name ?? '',
    (each) => Object.keys(each?.metadata.annotations ?? {}).length === 0,
  );
  await Promise.all(both.map((each) => each.stop()));
  await world.admin.delete(volumeSnapshots, SNAP);
}

/** As many as there are when all goes well. */
const CALLS: Record<Component, Record<'making' | 'deleting', number>> = {
  // Finalizers, the claim's, the content, status twice, the claim's finalizer. Mark, delete, two finalizers.
  controller: { making: 6, deleting: 4 },
  // Record, CreateSnapshot, status, removal of the record. DeleteSnapshot, finalizer.
  snapshotter: { making: 4, deleting: 2 },
};

for (const component of components) {
  for (const phase of ['making', 'deleting'] as const) {
    for (let at = 0; at < CALLS[component][phase]; at++) {
      for (const when of ['before', 'after'] as const) {
        test(`[SIDE-2] a crash of the ${component} ${when} call ${at + 1} of ${phase} is repaired by the next`, async (t) => {
          const world = await prepared(t);
          await begin(world, phase);
          await start(world, other(component));
          const crash = new Crash(at, when);
          await start(world, component, crash);
          await crash.happened.promise;
          await start(world, component);
          if (phase === 'making') {
            await world.ready('snap');
            await claimIsFree(world);
            assert.equal(world.driver.snapshots.size, 1);
            await world.admin.delete(volumeSnapshots, SNAP);
          }
          await nothingIsLeft(world);
        });
      }
    }
  }

  test(`[SIDE-2] these are all the calls of the ${component}`, async (t) => {
    const world = await prepared(t);
    const never = new Crash(-1, 'before');
    await world.makeSnapshot('snap');
    await start(world, other(component));
    await start(world, component, never);
    const { content } = await world.ready('snap');
    await claimIsFree(world);
    await world.content(
      content.metadata.name,
      (each) => Object.keys(each?.metadata.annotations ?? {}).length === 0,
    );
    assert.equal(never.calls, CALLS[component].making);
    await world.admin.delete(volumeSnapshots, SNAP);
    await nothingIsLeft(world);
    assert.equal(never.calls, CALLS[component].making + CALLS[component].deleting);
  });
}

for (const [what, at] of [
  ['has no handle yet', 1],
  ['is recorded', 2],
] as const) {
  test(`[SIDE-2] a snapshot deleted while its snapshotter is down and ${what} leaves nothing on the storage`, async (t) => {
    const world = await prepared(t);
    await world.makeSnapshot('snap');
    await start(world, 'controller');
    const crash = new Crash(at, 'after');
    await start(world, 'snapshotter', crash);
    await crash.happened.promise;
    assert.equal(world.driver.snapshots.size, 1);
    await world.admin.delete(volumeSnapshots, SNAP);
    await world.snapshot('snap', ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await start(world, 'snapshotter');
    await nothingIsLeft(world);
  });
}
