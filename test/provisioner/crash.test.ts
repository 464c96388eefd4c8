import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINALIZER_PROVISIONING } from '../../src/api/well-known.ts';
import { killAtBoundary } from './kill-at-boundary.ts';
import { provisionerWorld, type World } from './world.ts';

interface Story {
  name: string;
  /** While the first provisioner lives; `killed` ends every wait. */
  begin(world: World, claim: string, killed: Promise<void>): Promise<void>;
  /** While nobody provisions. */
  meanwhile?(world: World, claim: string): Promise<void>;
  /** Volumes of the claim at the end. */
  volumes: 0 | 1;
}

const make = async (world: World, claim: string) => void (await world.makeClaim(claim));

const stories: Story[] = [
  { name: 'the claim stays', begin: make, volumes: 1 },
  {
    name: 'the claim is deleted while nobody provisions',
    begin: make,
    meanwhile: (world, claim) => world.remove(claim),
    volumes: 0,
  },
  {
    name: 'the claim is deleted while the driver works',
    async begin(world, claim, killed) {
      const deleted = Promise.withResolvers<void>();
      world.driver.always('CreateVolume', { until: deleted.promise });
      const calls = world.driver.callsOf('CreateVolume').length;
      await world.makeClaim(claim);
      await Promise.race([
        world.driver.until(() => world.driver.callsOf('CreateVolume').length > calls),
        killed,
      ]);
      await world.remove(claim);
      deleted.resolve();
    },
    volumes: 0,
  },
  {
    name: 'the claim is deleted once it is bound',
    async begin(world, claim, killed) {
      await world.makeClaim(claim);
      await Promise.race([world.bound(claim), killed]);
      await world.remove(claim);
    },
    volumes: 0,
  },
];

for (const story of stories) {
  test(`[PROV-5] killed before and after each call: ${story.name}`, async (t) => {
    const world = await provisionerWorld(t);
    await world.makeClass();
    const hits: string[] = [];
    for (let at = 0; ; at++) {
      const claim = `data-${at}`;
      let kill = () => {};
      const boundaries = killAtBoundary(at, () => kill());
      const first = await world.start(boundaries.through);
      kill = first.kill;
      await story.begin(world, claim, boundaries.reached);
      const finished = settled(world, claim, story.meanwhile ? 1 : story.volumes).then(() => 'finished');
      finished.catch(() => {});
      const how = await Promise.race([boundaries.reached.then(() => 'killed'), finished]);
      await first.stop();
      await story.meanwhile?.(world, claim);
      const second = await world.start();
      await settled(world, claim, story.volumes);
      await second.stop();
      assertOneEach(world, boundaries.hit);
      if (how === 'finished') break;
      hits.push(boundaries.hit ?? '');
    }
    t.diagnostic(`killed ${hits.length} times: ${hits.join(', ')}`);
    assert(hits.length >= 6, `only ${hits}`);
  });
}

/** One volume a claim, none without a claim, and no PersistentVolume without either. */
function assertOneEach(world: World, when: string | undefined): void {
  const wanted = world.claims.list().map((claim) => `vol-pvc-${claim.metadata.uid}`);
  const recorded = world.volumes.list().map((volume) => volume.spec.csi?.volumeHandle ?? '');
  assert.deepEqual([...world.driver.volumes.keys()].sort(), wanted.sort(), when);
  assert.deepEqual(recorded.sort(), wanted, when);
}

async function settled(world: World, claim: string, volumes: 0 | 1): Promise<void> {
  const signal = AbortSignal.timeout(15_000);
  if (volumes === 1) {
    await world.bound(claim);
    const isLetGo = (each: { metadata: { finalizers?: string[] } } | undefined) =>
      each !== undefined && !each.metadata.finalizers?.includes(FINALIZER_PROVISIONING);
    await world.claims.waitFor(`default/${claim}`, isLetGo, signal);
    return;
  }
  await world.claimGone(claim);
  for (const { metadata, spec } of world.volumes.list()) {
    if (spec.claimRef?.name === claim) await world.volumeGone(metadata.name);
  }
  // The claim did not wait for its volume to go.
  await world.noIntents();
}

test('[PROV-5] after its signal, at any point, it sends no further call', async (t) => {
  const world = await provisionerWorld(t);
  await world.makeClass();
  for (let at = 0; at < 8; at++) {
    const claim = `data-${at}`;
    let stop = async () => {};
    const boundaries = killAtBoundary(at, () => void stop(), { hangs: false });
    const first = await world.start(boundaries.through);
    stop = first.stop;
    await world.makeClaim(claim);
    await boundaries.reached;
    await first.stop();
    assert.deepEqual(boundaries.late, [], boundaries.hit);
    const second = await world.start();
    await settled(world, claim, 1);
    await second.stop();
  }
  assertOneEach(world, 'at the end');
});
