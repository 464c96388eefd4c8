// Long lists, numbers, selectors and names: work that grows with the square of what was sent, or without end.

import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { attackedServer, configMap, MAPS, MERGE_PATCH, STRATEGIC_PATCH } from './attacked-server.ts';

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';

test('[DOOR-2] strategic merge of two long keyed lists takes linear time', { timeout: 60_000 }, async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  const secrets = (from: number): object[] =>
    Array.from({ length: 30_000 }, (_, i) => ({ name: `secret-${from + i}` }));
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'a' }, secrets: secrets(0) };
  assert.equal((await call('POST', ACCOUNTS, account)).code, 201);
  // Thousands of millions of comparisons, were each element searched for.
  const patch = { secrets: secrets(15_000), '$setElementOrder/secrets': secrets(10_000) };
  const { code, body } = await call('PATCH', `${ACCOUNTS}/a`, patch, STRATEGIC_PATCH);
  assert.equal(code, 200);
  assert.equal(body.secrets.length, 45_000);
});

test('[DOOR-2] a quantity of a million digits is refused', { timeout: 60_000 }, async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: `1${'0'.repeat(1_000_000)}` } },
    },
  };
  const { code, message } = await call('POST', '/api/v1/namespaces/default/persistentvolumeclaims', claim);
  assert.equal(code, 400);
  assert.match(message, /quantities may not be longer than 128 characters/);
});

test('[DOOR-2] selectors are bounded in requirements and values', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  const many = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}`).join(',');
  for (const [query, why] of [
    [`labelSelector=${many(501)}`, /a selector may have 500 requirements, this one has 501/],
    [`labelSelector=a%20in%20(${many(1_001)})`, /a selector may have 1000 values, this one has 1001/],
    [`fieldSelector=${'metadata.name!=a,'.repeat(501)}`, /a selector may have 500 requirements/],
  ] as const) {
    const { code, message } = await call('GET', `${MAPS}?${query}`);
    assert.equal(code, 400);
    assert.match(message, why);
  }
  assert.equal((await call('GET', `${MAPS}?labelSelector=${many(500)}`)).code, 200);
});

test('[DOOR-2] an object cannot grow beyond a limit, patch by patch', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-'));
  const { asAdmin: call } = await attackedServer(t, { dataDir });
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'a', labels: { a: 'b' } } };
  await call('POST', ACCOUNTS, account);
  const grow = (from: number): Promise<{ code: number; message: string }> =>
    call(
      'PATCH',
      `${ACCOUNTS}/a`,
      { secrets: Array.from({ length: 35_000 }, (_, i) => ({ name: `secret-${from + i}` })) },
      STRATEGIC_PATCH,
    );
  assert.equal((await grow(100_000)).code, 200);
  const { code, message } = await grow(200_000);
  assert.equal(code, 413);
  assert.match(message, /characters as JSON: limit is 3145728/);
});

test('[DOOR-2] unknown fields under long names and names of managers are bounded', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  const unknown = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`${i}${'u'.repeat(500)}`, 1]));
  const strict = await call('POST', `${MAPS}?fieldValidation=Strict`, { ...configMap('c'), ...unknown });
  assert.equal(strict.code, 400);
  assert.ok(strict.message.length < 50_000, `${strict.message.length} characters`);
  assert.equal((await call('POST', MAPS, { ...configMap('c'), ...unknown })).code, 201);
  const manager = encodeURIComponent('m'.repeat(129));
  const { code, message } = await call('PATCH', `${MAPS}/c?fieldManager=${manager}`, {}, MERGE_PATCH);
  assert.equal(code, 422);
  assert.match(message, /fieldManager: Too long: may not be more than 128 bytes/);
});
