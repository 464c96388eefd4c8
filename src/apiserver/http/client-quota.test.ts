import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { ClientQuota, quotaOf } from './client-quota.ts';

const refused = (why: RegExp) => (error: unknown) => {
  assert.ok(error instanceof KubeError && error.code === 429 && error.details.retryAfterSeconds === 1);
  assert.match(error.message, why);
  return true;
};

test('[DOOR-7] a client can use its quota, and again what it has released', () => {
  const quota = new ClientQuota('things', quotaOf(8));
  const giveBack = quota.take('a');
  quota.take('a');
  assert.throws(() => quota.take('a'), refused(/this client has 2 open things/));
  quota.take('b');
  giveBack();
  quota.take('a');
  assert.throws(() => quota.take('a'), refused(/this client/));
});

test('[DOOR-7] all clients together cannot exceed the total', () => {
  const quota = new ClientQuota('things', quotaOf(8));
  const givesBack = ['a', 'b', 'c', 'd'].flatMap((client) => [quota.take(client), quota.take(client)]);
  assert.throws(() => quota.take('e'), refused(/there are 8 open things/));
  givesBack[0]?.();
  quota.take('e');
});
