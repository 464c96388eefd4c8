import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claims, decideShares, type Peer } from './decide-shares.ts';
import type { MemberRecord } from './member-record.ts';
import { HASH_VERSION, ownerOf } from './rendezvous.ts';

const NOW_MS = 10_000;

function peer(id: string, record: Partial<MemberRecord> = {}, of: Partial<Peer> = {}): Peer {
  const base = { id, hash: HASH_VERSION, seq: 1, members: [id], kept: [], durationMs: 1500, left: false };
  const seen = { isOutdated: false, overAtMs: NOW_MS + 100, isDead: false };
  return { id, record: { ...base, ...record }, ...seen, ...of };
}

const decide = (peers: Peer[], given: { mayAct?: boolean; hash?: number } = {}) =>
  decideShares({ id: 'me', hash: HASH_VERSION, peers, nowMs: NOW_MS, mayAct: true, ...given });

const table: { name: string; peers: Peer[]; members: string[]; rivals: string[]; isInDoubt?: boolean }[] = [
  { name: 'alone', peers: [], members: ['me'], rivals: [] },
  { name: 'beside others', peers: [peer('z'), peer('a')], members: ['a', 'me', 'z'], rivals: ['z', 'a'] },
  {
    name: 'a newcomer that only listens',
    peers: [peer('a', { members: [] })],
    members: ['me'],
    rivals: ['a'],
  },
  { name: 'one that has left', peers: [peer('a', { left: true })], members: ['me'], rivals: [] },
  {
    name: 'one that is silent: still a member until the server was asked',
    peers: [peer('a', {}, { overAtMs: NOW_MS })],
    members: ['a', 'me'],
    rivals: ['a'],
    isInDoubt: true,
  },
  {
    name: 'one that is silent on the server, too',
    peers: [peer('a', {}, { overAtMs: NOW_MS, isDead: true })],
    members: ['me'],
    rivals: [],
  },
  {
    name: 'one whose Lease nobody can read',
    peers: [peer('a', {}, { record: undefined })],
    members: ['me'],
    rivals: ['a'],
  },
  {
    name: 'one with a higher hash version does not count',
    peers: [peer('a', { hash: HASH_VERSION + 1 })],
    members: ['me'],
    rivals: ['a'],
  },
];
for (const { name, peers, members, rivals, isInDoubt = false } of table) {
  test(`[SCL-1] who divides the objects: ${name}`, () => {
    const decision = decide(peers);
    assert.deepEqual(decision.members, members);
    assert.deepEqual(
      decision.rivals.map(({ id }) => id),
      rivals,
    );
    assert.equal(decision.isInDoubt, isInDoubt);
  });
}

test('[SCL-1] of two releases that disagree about hashing the one with the lower version works, the other waits and says so', () => {
  const { members, waitsFor } = decide([peer('old', { members: [] })], { hash: HASH_VERSION + 1 });
  assert.deepEqual(members, []);
  assert.match(waitsFor ?? '', /old divides with hash version 1, this replica with 2/);
});

test('a replica that may not act yet divides nothing', () => {
  assert.deepEqual(decide([peer('a')], { mayAct: false }).members, []);
});

test('[SCL-1] what a peer may be acting on', () => {
  const both = ['a', 'me'];
  const keys = Array.from({ length: 50 }, (_, index) => `k${index}`);
  const mine = keys.find((key) => ownerOf(key, both) === 'me') as string;
  const theirs = keys.find((key) => ownerOf(key, both) === 'a') as string;
  const a = peer('a', { members: both });
  assert.deepEqual([claims(a, mine, 1), claims(a, theirs, 1)], [false, true]);
  assert.equal(claims(peer('a', { members: ['a'] }), mine, 1), true, 'it does not know this replica yet');
  assert.equal(claims(peer('a', { members: both, kept: [mine] }), mine, 1), true, 'it still works on it');
  assert.equal(claims(peer('a', { members: both, hash: 2 }), mine, 1), true, 'it hashes differently');
  assert.equal(claims(peer('a', {}, { record: undefined }), mine, 1), true, 'nothing is known of it');
  assert.equal(claims(peer('a', { members: both }, { isOutdated: true }), mine, 1), true, 'it may say more');
  assert.equal(claims(peer('a', { members: [] }), mine, 1), false);
});
