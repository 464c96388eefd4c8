// For the tests of group snapshots: the world of snapshots with two claims that one selector finds.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import {
  persistentVolumeClaims,
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import type { Resource } from '../../src/api/object.ts';
import { FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE } from '../../src/api/well-known.ts';
import type { ScriptedDriverOptions } from '../../src/csi/testing/scripted-driver.ts';
import { DRIVER, snapshotWorld, type World, within } from './world.ts';

export const GROUP = { name: 'all', namespace: 'default' };

export async function groupWorld(
  t: TestContext,
  driver: ScriptedDriverOptions = { group: ['CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'] },
): Promise<World> {
  const world = await snapshotWorld(t, { driver });
  for (const name of ['data', 'log']) await addClaim(world, name);
  return world;
}

export async function addClaim(world: World, name: string, driver?: string): Promise<void> {
  await world.makeBoundClaim(name, driver === undefined ? {} : { driver });
  const labels = { metadata: { labels: { app: 'db' } } };
  await world.admin.patch(persistentVolumeClaims, { name, namespace: 'default' }, labels, { type: 'merge' });
}

export const makeGroupClass = (world: World, change: object = {}) =>
  world.make(volumeGroupSnapshotClasses, {
    metadata: { name: 'together' },
    driver: DRIVER,
    deletionPolicy: 'Delete',
    ...change,
  });

export const makeGroup = (world: World, spec: object = {}) =>
  world.make(volumeGroupSnapshots, {
    metadata: GROUP,
    spec: {
      source: { selector: { matchLabels: { app: 'db' } } },
      volumeGroupSnapshotClassName: 'together',
      ...spec,
    },
  });

export async function untilGroup(
  world: World,
  holds: (group: VolumeGroupSnapshot | undefined) => boolean,
): Promise<VolumeGroupSnapshot | undefined> {
  return world.groups.waitFor('default/all', holds, within());
}

export const groupReady = (world: World) => untilGroup(world, (group) => group?.status?.readyToUse === true);
export const groupGone = (world: World) => untilGroup(world, (group) => group === undefined);

export const membersOf = async (world: World): Promise<VolumeSnapshot[]> =>
  (await world.admin.list(volumeSnapshots, { namespace: 'default' })).items;

export const claimIsFree = (world: World, name: string) =>
  world.claims.waitFor(
    `default/${name}`,
    (claim) => !claim?.metadata.finalizers?.includes(FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE),
    within(),
  );

export async function nothingIsLeft(world: World): Promise<void> {
  await groupGone(world);
  for (const [kind, resource] of [
    ['member', volumeSnapshots],
    ['member content', volumeSnapshotContents],
    ['group content', volumeGroupSnapshotContents],
  ] as const) {
    assert.deepEqual((await world.admin.list(resource as Resource)).items, [], `a ${kind} is left`);
  }
  for (const name of ['data', 'log']) await claimIsFree(world, name);
  assert.equal(world.driver.groups.size, 0);
  assert.equal(world.driver.snapshots.size, 0);
}
