// A cluster in use is moved from the official sidecars to ours and back. Both crash once on the way.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingPeers } from '../capabilities.ts';
import { temporaryDirectory } from '../e2e/up-process.ts';
import { followHandles, startLoad } from './move-load.ts';
import { createMoveWorld, DRIVER, OFFICIAL_PROGRAMS } from './move-world.ts';

const LIVES = 40;

test('[REAL-4] a cluster in use moves from the official sidecars to ours and back, and nothing is lost, doubled or leaked', {
  skip: missingPeers('etcd', 'kube-apiserver', ...OFFICIAL_PROGRAMS),
  timeout: 900_000,
}, async (t) => {
  const world = await createMoveWorld(await temporaryDirectory(t));
  t.after(() => world.stop());
  const handles = followHandles(world);

  const official = await world.startStack('official');
  const load = startLoad(world, { lives: LIVES, atOnce: 8 });
  const said = (what: string) => t.diagnostic(`${load.underWay()} lives under way: ${what}`);
  await load.ended(6);
  const officialLeases = await world.leaseNames();

  said('ours are started as standbys, and the official ones are killed');
  const ours = await world.startStack('berth');
  await official.stop('SIGKILL');
  await load.ended(14);

  said('ours are killed, and started again');
  await ours.stop('SIGKILL');
  const oursAgain = await world.startStack('berth');
  await load.ended(22);

  said('the official ones are started as standbys, and ours are told to stop');
  const officialAgain = await world.startStack('official');
  await oursAgain.stop('SIGTERM');
  await load.ended(30);

  said('the official ones are killed, and started again');
  await officialAgain.stop('SIGKILL');
  await world.startStack('official');
  await load.all;

  assert.deepEqual(await world.left(), {});
  // Each life has two claims. A second volume for one of them would be a second handle, or be left on the storage.
  assert.equal(handles.size, 2 * LIVES);
  assert.deepEqual([...new Set([...handles.values()].map(({ size }) => size))], [1]);
  // The same leases, or both stacks would have acted at once. The ledger of intents is no leader's.
  const others = (await world.leaseNames()).filter((name) => !officialLeases.includes(name));
  assert.deepEqual(others, [`provisioning-intents.${DRIVER}`]);
});
