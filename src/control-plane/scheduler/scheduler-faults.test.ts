import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, pods } from '../../api/kinds.ts';
import { selectedNodeOf } from '../../api/volumes.ts';
import { seededRandom } from '../../runtime/random.ts';
import { unreliable } from '../testing/unreliable.ts';
import { reachableFrom, schedulerWorld } from './testing/scheduler-world.ts';

const ZONES = ['a', 'b', 'c'];
const LIMIT = 3;

for (let seed = 1; seed <= 8; seed++) {
  test(`[TOP-8] lost calls and responses, restarts, failed provisioning: topology, limits and capacity hold, and every pod gets its node (seed ${seed})`, async (t) => {
    const random = seededRandom(seed);
    const net = unreliable(random);
    const w = await schedulerWorld(t, { faults: net.faults });
    const pick = <T>(items: readonly T[]): T => items[random.int(items.length)] as T;
    await w.startBinder();
    await w.storageClass('late');
    for (const zone of ZONES) {
      const status = { allocatable: { cpu: '4', memory: '1Gi', pods: '10' } };
      await w.node(`node-${zone}`, { labels: { zone }, status });
      await w.csiNode(`node-${zone}`, { topologyKeys: ['zone'], allocatable: { count: LIMIT } });
    }
    let scheduler = await w.startScheduler();
    const homes = new Map<string, string>();
    let count = 0;

    async function check(): Promise<void> {
      const { items } = await w.make(w.kube.list(pods));
      for (const zone of ZONES) {
        const here = items.filter(({ spec }) => spec.nodeName === `node-${zone}`);
        assert(here.length <= LIMIT, `${here.length} volumes on node-${zone}`);
        for (const { metadata } of here) {
          const home = homes.get(metadata.name);
          assert(home === undefined || home === zone, `${metadata.name} of zone ${home} is in ${zone}`);
        }
      }
    }

    /** One claim that waits for provisioning gets its volume, or its node is rejected. */
    async function provisionOne(mayGiveUp: boolean): Promise<void> {
      const { items } = await w.make(w.kube.list(persistentVolumeClaims));
      const claim = items.find((each) => !each.spec.volumeName && selectedNodeOf(each) !== undefined);
      if (!claim) return;
      const { name } = claim.metadata;
      if (mayGiveUp && random.next() < 0.3) {
        await w.giveUp(name);
        return;
      }
      const zone = selectedNodeOf(claim)?.slice('node-'.length) ?? '';
      homes.set(name, zone);
      await w.provision(name, reachableFrom('zone', zone)).catch(() => {});
    }

    for (let step = 0; step < 30; step++) {
      const what = random.int(6);
      if (what < 2 && count < 9) {
        const name = `p${count++}`;
        if (random.int(2) === 0) {
          // At most three in each zone, so that in the end all of them fit.
          const zone = ZONES[Math.floor(count / 3) % 3] ?? 'a';
          homes.set(name, zone);
          await w.boundClaim(name, reachableFrom('zone', zone));
        } else await w.claim(name);
        await w.pod(name, [name]);
      } else if (what < 5) await provisionOne(true);
      else {
        await scheduler.stop();
        scheduler = await w.startScheduler();
      }
      await w.clock.advance(pick([0, 100, 3000]));
      await check();
    }
    net.stop();
    for (let turn = 0; turn < 3 * count; turn++) {
      await provisionOne(false);
      await w.clock.advance(70_000);
      await check();
    }
    const { items } = await w.make(w.kube.list(pods));
    const waiting = items.filter(({ spec }) => !spec.nodeName);
    // A volume that was created in a zone that is full by now waits until a pod there is deleted.
    for (const { metadata, status } of waiting) {
      const home = homes.get(metadata.name);
      const there = items.filter(({ spec }) => spec.nodeName === `node-${home}`);
      assert.equal(there.length, LIMIT, `${metadata.name}: ${JSON.stringify(status?.conditions)}`);
    }
    for (const { metadata } of items.filter(({ spec }) => spec.nodeName)) await w.removePod(metadata.name);
    await w.clock.advance(70_000);
    const left = await w.make(w.kube.list(pods));
    assert(
      left.items.every(({ spec }) => spec.nodeName),
      'whoever waited for a place has it now',
    );
  });
}
