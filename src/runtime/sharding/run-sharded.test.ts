// Replicas under virtual time, on the embedded API server: who owns what while replicas come, go, hang, and while somebody
// edits their Leases.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Lease, leases } from '../../api/kinds.ts';
import type { KubeClient } from '../kube/kube.ts';
import { isNotFound, KubeError } from '../kube/kube-error.ts';
import { GROUP_IDENTITY } from './group-lease.ts';
import { ANN_SHARDING_MEMBER } from './member-record.ts';
import {
  DURATION_MS,
  GROUP,
  isWhole,
  KEYS,
  type LeaseName,
  type ShardedWorld,
  shardedWorld,
  withSwitch,
} from './testing/sharded-world.ts';

test('[SCL-1] a replica that joins and one that leaves move only what must move, at once', async (t) => {
  const { clock, replica, owners, admin } = await shardedWorld(t);
  const all = [replica('a'), replica('b')];
  await clock.runUntil(() => isWhole(owners(all)), 10_000);
  const before = owners(all);
  assert.equal(
    (await admin.get(leases, { namespace: 'default', name: GROUP })).spec?.holderIdentity,
    GROUP_IDENTITY,
  );
  all.push(replica('c'));
  await clock.runUntil(() => owners(all).includes('c') && isWhole(owners(all)), 10_000);
  const during = owners(all);
  for (const [index, owner] of during.entries()) assert.ok(owner === before[index] || owner === 'c');
  all[2]?.stop.abort();
  const stoppedAtMs = clock.monotonicMs();
  await clock.runUntil(() => isWhole(owners(all.slice(0, 2))), 10_000);
  assert.deepEqual(owners(all), before);
  assert.ok(clock.monotonicMs() - stoppedAtMs < DURATION_MS / 2, 'it said that it left');
});

test('[SCL-1] an object that is worked on stays with its replica until that has ended', async (t) => {
  const { clock, replica, owners } = await shardedWorld(t);
  const a = replica('a');
  await clock.runUntil(() => isWhole(owners([a])), 10_000);
  const turns = KEYS.map((key) => a.membership?.enter(key));
  const b = replica('b');
  await clock.advance(20_000);
  assert.ok(!owners([a, b]).includes('b'), 'all are kept');
  for (const turn of turns) turn?.leave();
  await clock.runUntil(() => isWhole(owners([a, b])) && owners([a, b]).includes('b'), 1_000);
});

test('[SCL-1] what another replica worked on is taken over with caches that show what it did until the end', async (t) => {
  const { clock, replica, owners } = await shardedWorld(t);
  const a = replica('a');
  await clock.runUntil(() => isWhole(owners([a])), 10_000);
  const turns = KEYS.map((key) => a.membership?.enter(key));
  let prepared: { fromMs: number; gained: string[] } | undefined;
  const b = replica('b', {
    async prepare(before, after) {
      const gained = KEYS.filter((key) => after(key) && !before(key));
      const fromMs = clock.monotonicMs();
      await clock.sleep(30);
      prepared = { fromMs, gained };
    },
  });
  await clock.advance(20_000);
  const endedAtMs = clock.monotonicMs();
  for (const turn of turns) turn?.leave();
  await clock.runUntil(() => owners([a, b]).includes('b'), 1_000);
  const taken = KEYS.filter((key) => b.membership?.owns(key));
  assert.ok(prepared && prepared.fromMs >= endedAtMs, 'caches were brought up to date before that');
  assert.deepEqual(prepared.gained, taken);
});

test('[SCL-1] somebody deletes or edits the Lease of a replica: nobody acts twice, and the log says so', async (t) => {
  const { clock, replica, owners, admin, log, memberLease } = await shardedWorld(t);
  const all = [replica('a'), replica('b')];
  await clock.runUntil(() => isWhole(owners(all)), 10_000);
  const watched = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10) {
      await clock.advance(10);
      owners(all);
    }
  };
  await admin.delete(leases, memberLease('a'));
  // A newcomer at the worst moment, which cannot see it.
  all.push(replica('c'));
  await watched(6_000);
  assert.ok(isWhole(owners(all)));
  assert.ok(log.lines.some(({ message }) => /deleted by somebody else/.test(message)));
  const { metadata } = await admin.get(leases, memberLease('a'));
  const said = metadata.annotations?.[ANN_SHARDING_MEMBER] ?? '';
  const edited = said.replace('\\"left\\":false', '\\"left\\":true');
  assert.notEqual(edited, said);
  const patch = {
    metadata: { annotations: { [ANN_SHARDING_MEMBER]: edited } },
    spec: { holderIdentity: '' },
  };
  await admin.patch(leases, memberLease('a'), patch, { type: 'merge' });
  await watched(6_000);
  assert.ok(isWhole(owners(all)));
  assert.ok(log.lines.some(({ message }) => /changed by hand or by another program/.test(message)));
});

test('[SCL-1] a replica that cannot renew stops before others take over, and comes back as a newcomer', async (t) => {
  const { clock, replica, owners, kube } = await shardedWorld(t);
  const cut = withSwitch(kube);
  const a = replica('a', { kube: cut.kube, renewDeadlineMs: 600_000, leaseDurationMs: 700_000 });
  const b = replica('b');
  await clock.runUntil(() => isWhole(owners([a, b])) && owners([a, b]).includes('a'), 10_000);
  cut.isCut = true;
  for (let passed = 0; passed < 5_000; passed += 5) {
    await clock.advance(5);
    owners([a, b]);
  }
  assert.ok(owners([a, b]).every((owner) => owner === 'b'));
  assert.throws(() => a.membership?.check(), /must not act (yet|any more)/);
  cut.isCut = false;
  await clock.runUntil(() => owners([a, b]).includes('a') && isWhole(owners([a, b])), 10_000);
  assert.equal(a.starts, 2, 'its work was ended and begun again');
});

test('[SCL-1] while the watch of Leases is silent nothing changes hands: the server is asked before anybody counts as dead', async (t) => {
  const { clock, replica, owners, kube } = await shardedWorld(t);
  const late = withSwitch(kube);
  const all = [replica('a'), replica('b'), replica('c', { kube: late.kube })];
  await clock.runUntil(() => isWhole(owners(all)) && new Set(owners(all)).size === 3, 10_000);
  const before = owners(all);
  late.isSilent = true;
  for (let passed = 0; passed < 20_000; passed++) {
    await clock.advance(1);
    assert.deepEqual(owners(all), before, `${passed} ms later`);
  }
});

for (const [what, change] of [
  ['deletes it', ({ admin }, name) => admin.delete(leases, name)],
  [
    'puts back what it said long ago',
    async ({ admin }, name, before) => {
      const { resourceVersion } = (await admin.get(leases, name)).metadata;
      await admin.update(leases, { ...before, metadata: { ...before.metadata, resourceVersion } });
    },
  ],
] satisfies [string, (world: ShardedWorld, name: LeaseName, before: Lease) => Promise<unknown>][]) {
  test(`[SCL-1] a replica renews its Lease, which a late watch does not show, somebody ${what}, and the replica hangs: nobody acts in its place before it has stopped`, async (t) => {
    const world = await shardedWorld(t);
    const { clock, replica, owners, kube, admin, memberLease } = world;
    const late = withSwitch(kube);
    const hanging = withSwitch(kube);
    const [a, b] = [replica('a', { kube: late.kube }), replica('b', { kube: hanging.kube })];
    await clock.runUntil(() => isWhole(owners([a, b])) && new Set(owners([a, b])).size === 2, 10_000);
    const before = await admin.get(leases, memberLease('b'));
    late.isSilent = true;
    await clock.advance(DURATION_MS - 200);
    await change(world, memberLease('b'), before);
    Object.assign(hanging, { isSilent: true, isCut: true });
    for (let passed = 0; passed < 2 * DURATION_MS; passed++) {
      await clock.advance(1);
      owners([a, b]);
    }
    await clock.runUntil(() => owners([a, b]).every((owner) => owner === 'a'), 2 * DURATION_MS);
  });
}

test('[SCL-1] a replica knows another one as a newcomer that has no share; its late watch does not show that it got one; that one loses its Lease and hangs: nobody acts in its place before it has stopped', async (t) => {
  const { clock, replica, owners, kube, admin, memberLease } = await shardedWorld(t);
  const late = withSwitch(kube);
  const hanging = withSwitch(kube);
  const b = replica('b', { kube: hanging.kube });
  await clock.advance(DURATION_MS / 3);
  const a = replica('a', { kube: late.kube });
  await clock.advance(DURATION_MS / 3);
  late.isSilent = true;
  await clock.runUntil(() => owners([a, b]).every((owner) => owner === 'b'), 10_000);
  await admin.delete(leases, memberLease('b'));
  Object.assign(hanging, { isSilent: true, isCut: true });
  for (let passed = 0; passed < 2 * DURATION_MS; passed++) {
    await clock.advance(1);
    owners([a, b]);
  }
  await clock.runUntil(() => owners([a, b]).every((owner) => owner === 'a'), 2 * DURATION_MS);
});

test('[SCL-1] the Lease of a replica that died is deleted, but not one that is written meanwhile, until that is over, too', async (t) => {
  const { clock, replica, owners, kube, admin, memberLease } = await shardedWorld(t);
  const hanging = withSwitch(kube);
  let deletions = 0;
  const remove = async (...given: Parameters<KubeClient['delete']>) => {
    deletions++;
    const metadata = { labels: { written: 'meanwhile' } };
    if (deletions === 1) await admin.patch(leases, memberLease('b'), { metadata }, { type: 'merge' });
    return kube.delete(...given);
  };
  const a = replica('a', { kube: { ...kube, delete: remove } as KubeClient });
  const b = replica('b', { kube: hanging.kube });
  await clock.runUntil(() => isWhole(owners([a, b])) && owners([a, b]).includes('b'), 10_000);
  Object.assign(hanging, { isSilent: true, isCut: true });
  await clock.runUntil(() => deletions === 1, 60_000);
  await clock.advance(1_000);
  assert.equal((await admin.get(leases, memberLease('b'))).metadata.labels?.written, 'meanwhile');
  await clock.runUntil(() => deletions === 2, 60_000);
  await clock.advance(1_000);
  await assert.rejects(admin.get(leases, memberLease('b')), isNotFound);
  assert.ok(owners([a]).every((owner) => owner === 'a'));
});

test('[SCL-1] two releases that disagree about hashing never work at the same time', async (t) => {
  const { clock, replica, owners, log } = await shardedWorld(t);
  const old = replica('old');
  await clock.runUntil(() => isWhole(owners([old])), 10_000);
  const next = replica('next', { member: { hash: 2 } });
  await clock.advance(10_000);
  assert.ok(owners([old, next]).every((owner) => owner === 'old'));
  assert.ok(log.lines.some(({ fields }) => /hash version 1/.test(String(fields?.why))));
  old.stop.abort();
  await clock.runUntil(() => owners([old, next]).every((owner) => owner === 'next'), 10_000);
});

test('[SCL-1] a replica ends that is stopped before it could write its Lease', async (t) => {
  const { clock, replica, kube } = await shardedWorld(t);
  const create = () => Promise.reject(new KubeError({ reason: 'Unreachable', code: 0, message: 'cut' }));
  const a = replica('a', { kube: { ...kube, create } as KubeClient });
  await clock.advance(5_000);
  a.stop.abort();
  assert.equal(await clock.runUntil(a.ended, 10_000), undefined);
  assert.equal(a.starts, 0);
});

for (const forbidden of [['create', 'update'], ['list']] as const) {
  test(`[SCL-1] without the right to ${forbidden.join(' and ')} Leases a replica ends with a message and acts on nothing`, async (t) => {
    const { clock, replica, owners, kube } = await shardedWorld(t);
    const refuse = () => Promise.reject(new KubeError({ reason: 'Forbidden', code: 403, message: 'no' }));
    const refused = Object.fromEntries(forbidden.map((verb) => [verb, refuse]));
    const a = replica('a', { kube: { ...kube, ...refused } as KubeClient });
    let hasActed = false;
    const error = await clock.runUntil(
      Promise.race([
        a.ended,
        clock.sleep(60_000).then(() => 'it goes on'),
        (async () => {
          while (a.membership === undefined || !owners([a]).includes('a')) await clock.sleep(5);
          hasActed = true;
        })(),
      ]),
      70_000,
    );
    assert.match(
      String(error),
      /--sharding needs the right to get, list, watch, create, update and delete Leases in namespace default/,
    );
    assert.ok(!hasActed);
  });
}
