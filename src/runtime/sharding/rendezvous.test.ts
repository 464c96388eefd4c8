import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../random.ts';
import { ownerOf } from './rendezvous.ts';

const random = seededRandom('uids');
const uids = Array.from({ length: 6_000 }, () => random.uuid());
const members = ['a_1', 'b_2', 'c_3'];

test('[SCL-1] each member gets about its part, whatever the order of the list', () => {
  const shares = Map.groupBy(uids, (uid) => ownerOf(uid, members));
  for (const member of members) {
    const part = (shares.get(member)?.length ?? 0) / uids.length;
    assert.ok(part > 0.3 && part < 0.37, `${member} has ${part}`);
  }
  for (const uid of uids) assert.equal(ownerOf(uid, members), ownerOf(uid, [...members].reverse()));
});

test('[SCL-1] a member that comes or goes moves only what it gets or had', () => {
  for (const uid of uids) {
    const before = ownerOf(uid, members);
    const joined = ownerOf(uid, [...members, 'd_4']);
    assert.ok(joined === before || joined === 'd_4');
    const left = ownerOf(uid, ['a_1', 'c_3']);
    assert.ok(left === before || before === 'b_2');
  }
});

test('the function of version 1 stays as it is: replicas of two releases must agree', () => {
  const owners = Array.from({ length: 16 }, (_, index) => ownerOf(`key-${index}`, members)?.[0]);
  assert.equal(owners.join(''), 'caabbcacbbbbbccb');
  assert.equal(ownerOf('key-0', []), undefined);
});
