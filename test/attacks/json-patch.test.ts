// JSON patches of a few kilobytes that would cost gigabytes, minutes or the stack.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attackedServer, configMap, JSON_PATCH, MAPS } from './attacked-server.ts';

test('[DOOR-2] copies that double an object are refused by the limit on copied bytes, in dry runs too', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  await call('POST', MAPS, configMap('victim', { seed: 'x'.repeat(100) }));
  const doubling = Array.from({ length: 20 }, (_, i) => ({ op: 'copy', from: '/data', path: `/data/k${i}` }));
  for (const query of ['', '?dryRun=All']) {
    const { code, message } = await call('PATCH', `${MAPS}/victim${query}`, doubling, JSON_PATCH);
    assert.equal(code, 422);
    assert.match(message, /accumulated size increase of copy is \d+, exceeding the limit 3145728/);
  }
  assert.deepEqual(Object.keys((await call('GET', `${MAPS}/victim`)).body.data), ['seed']);
});

test('[DOOR-2] more than 10,000 operations are refused', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  await call('POST', MAPS, configMap('victim'));
  const operations = Array.from({ length: 10_001 }, () => ({
    op: 'test',
    path: '/kind',
    value: 'ConfigMap',
  }));
  const { code, message } = await call('PATCH', `${MAPS}/victim`, operations, JSON_PATCH);
  assert.equal(code, 413);
  assert.match(message, /allowed maximum operations in a JSON patch is 10000, got 10001/);
});

test('[DOOR-2] inserting at the front of a long list again and again is refused', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  await call('POST', MAPS, configMap('victim'));
  const operations = [
    { op: 'add', path: '/list', value: Array.from({ length: 300_000 }, () => 0) },
    ...Array.from({ length: 1_000 }, () => ({ op: 'add', path: '/list/0', value: 1 })),
  ];
  const { code, message } = await call('PATCH', `${MAPS}/victim`, operations, JSON_PATCH);
  assert.equal(code, 413);
  assert.match(message, /allowed maximum of list elements moved by a JSON patch is 50000000/);
});

test('[DOOR-2] moves that nest an object ever deeper are refused by the limit on depth', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  await call('POST', MAPS, configMap('victim'));
  const nesting = Array.from({ length: 4_998 }, (_, i) => {
    const [inner, outer] = i % 2 === 0 ? ['a', 'b'] : ['b', 'a'];
    return [
      { op: 'add', path: `/${outer}`, value: {} },
      { op: 'move', from: `/${inner}`, path: `/${outer}/x` },
    ];
  });
  const operations = [{ op: 'add', path: '/a', value: {} }, ...nesting.flat()];
  for (const last of [[], [{ op: 'copy', from: '/a', path: '/c' }]]) {
    const { code, message } = await call('PATCH', `${MAPS}/victim`, [...operations, ...last], JSON_PATCH);
    assert.equal(code, 422);
    assert.match(message, /nested deeper than 200 levels/);
  }
  assert.equal((await call('GET', `${MAPS}/victim`)).code, 200);
});
