// The snapshot controller, and the snapshotter, crash before and after each of their calls for a group snapshot, and
// another one takes over: at the end there is one group with its members, or none, and nothing is left behind.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { volumeGroupSnapshotContents, volumeGroupSnapshots } from '../../src/api/kinds.ts';
import { Crash } from '../../src/sidecars/testing/crash.ts';
import { type Component, components, other, start } from './crashing.ts';
import {
  claimIsFree,
  GROUP,
  groupGone,
  groupReady,
  groupWorld,
  makeGroup,
  makeGroupClass,
  membersOf,
  nothingIsLeft,
} from './group-world.ts';
import type { World } from './world.ts';

type Phase = 'making' | 'deleting';

/** As many as there are at most when all goes well: some writes to members coincide. */
const CALLS: Record<Component, Record<Phase, number>> = {
  controller: { making: 21, deleting: 11 },
  // Record, CreateVolumeGroupSnapshot, status, removal of the record. Two finalizers of members, DeleteVolumeGroupSnapshot, finalizer.
  snapshotter: { making: 4, deleting: 4 },
};

async function prepared(t: TestContext): Promise<World> {
  const world = await groupWorld(t);
  await makeGroupClass(world);
  return world;
}

/** The group is ready, and nobody has anything left to write. */
async function made(world: World): Promise<void> {
  await groupReady(world);
  for (const name of ['data', 'log']) await claimIsFree(world, name);
  for (;;) {
    const [content] = (await world.admin.list(volumeGroupSnapshotContents)).items;
    if (Object.keys(content?.metadata.annotations ?? {}).length === 0) return;
  }
}

/** Brings the group to the beginning of the phase, with both at work and stopped again. */
async function begin(world: World, phase: Phase): Promise<void> {
  if (phase === 'making') {
    await makeGroup(world);
    return;
  }
  const both = await Promise.all([start(world, 'controller'), start(world, 'snapshotter')]);
  await makeGroup(world);
  await made(world);
  await Promise.all(both.map((each) => each.stop()));
  await world.admin.delete(volumeGroupSnapshots, GROUP);
}

for (const component of components) {
  for (const phase of ['making', 'deleting'] as const) {
    for (let at = 0; at < CALLS[component][phase]; at++) {
      for (const when of ['before', 'after'] as const) {
        test(`[GRP-3] a crash of the ${component} ${when} call ${at + 1} of ${phase} is repaired by the next`, async (t) => {
          const world = await prepared(t);
          await begin(world, phase);
          await start(world, other(component));
          const crash = new Crash(at, when);
          await start(world, component, crash);
          const end = phase === 'making' ? made(world) : groupGone(world);
          await Promise.race([crash.happened.promise, end]);
          await start(world, component);
          await end;
          if (phase === 'making') {
            assert.equal(world.driver.groups.size, 1);
            assert.equal((await membersOf(world)).length, 2);
            await world.admin.delete(volumeGroupSnapshots, GROUP);
          }
          await nothingIsLeft(world);
        });
      }
    }
  }

  test(`[GRP-3] these are all the calls of the ${component}`, async (t) => {
    const world = await prepared(t);
    const never = new Crash(-1, 'before');
    await makeGroup(world);
    await start(world, other(component));
    await start(world, component, never);
    await made(world);
    const making = never.calls;
    assert.ok(making <= CALLS[component].making, `${making} calls`);
    await world.admin.delete(volumeGroupSnapshots, GROUP);
    await nothingIsLeft(world);
    const deleting = never.calls - making;
    assert.ok(deleting <= CALLS[component].deleting, `${deleting} calls`);
  });
}
