// The single Lease, when the last replica leaves: whoever else works by then holds it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leases } from '../../api/kinds.ts';
import type { KubeClient } from '../kube/kube.ts';
import { runWithLease } from '../leases/run-with-lease.ts';
import { seededRandom } from '../random.ts';
import { GROUP_IDENTITY } from './group-lease.ts';
import { DURATION_MS, GROUP, isWhole, shardedWorld, withSwitch } from './testing/sharded-world.ts';

test('[SCL-1] the last replica leaves while a newcomer cannot write its own Lease yet: the newcomer works only with the Lease of the group', async (t) => {
  const { clock, replica, owners, kube, admin } = await shardedWorld(t);
  const a = replica('a');
  await clock.runUntil(() => isWhole(owners([a])), 10_000);
  const held = Promise.withResolvers<void>();
  const create = async (...given: Parameters<KubeClient['create']>) => {
    await held.promise;
    return kube.create(...given);
  };
  const b = replica('b', { kube: { ...kube, create } as KubeClient });
  await clock.advance(500);
  a.stop.abort();
  await clock.runUntil(a.ended, 10_000);
  held.resolve();
  await clock.runUntil(() => isWhole(owners([b])), 10_000);
  const { spec } = await admin.get(leases, { namespace: 'default', name: GROUP });
  assert.equal(spec?.holderIdentity, GROUP_IDENTITY);
});

test('[SCL-1] a replica hangs, the last one of the others leaves and releases the Lease of the group to a program without shares: the replica that hung does not act beside that', async (t) => {
  const { clock, replica, owners, kube, log } = await shardedWorld(t);
  const hanging = withSwitch(kube);
  let renewedAtMs = 0;
  const update = async (...given: Parameters<KubeClient['update']>) => {
    const answer = await hanging.kube.update(...given);
    if (given[1].metadata.name === GROUP) renewedAtMs = clock.monotonicMs();
    return answer;
  };
  const a = replica('a', { kube: { ...hanging.kube, update } as KubeClient });
  const b = replica('b');
  await clock.runUntil(() => isWhole(owners([a, b])) && new Set(owners([a, b])).size === 2, 10_000);
  let isLedByOther = false;
  const stopOther = new AbortController();
  const other = runWithLease(
    { kube, clock, random: seededRandom('o'), log, namespace: 'default', name: GROUP, identity: 'other' },
    async (leading) => {
      isLedByOther = true;
      await new Promise<void>((resolve) => leading.addEventListener('abort', () => resolve()));
      isLedByOther = false;
    },
    stopOther.signal,
  );
  const before = renewedAtMs;
  await clock.runUntil(() => renewedAtMs > before, 20_000);
  Object.assign(hanging, { isSilent: true, isCut: true });
  await clock.advance(DURATION_MS + 150);
  b.stop.abort();
  await clock.runUntil(() => isLedByOther, 2_000);
  Object.assign(hanging, { isSilent: false, isCut: false });
  for (let passed = 0; passed < 20_000; passed += 5) {
    await clock.advance(5);
    assert.ok(!isLedByOther || !owners([a]).includes('a'), `${passed} ms later`);
  }
  assert.ok(isLedByOther);
  stopOther.abort();
  await clock.runUntil(other, 1_000);
});
