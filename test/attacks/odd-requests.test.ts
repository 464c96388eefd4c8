// Small things that clients get wrong, or right on purpose: each has an answer of the API's own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN_TOKEN, attackedServer, MAPS } from './attacked-server.ts';

const token = ADMIN_TOKEN;
const BUILT_IN = ['constructor', 'toString', '__proto__', 'hasOwnProperty'];

for (const name of BUILT_IN) {
  test(`[DOOR-4] Accept …;as=${name} asks for a form that is not served`, async (t) => {
    const { call } = await attackedServer(t);
    const accept = `application/json;as=${name};v=v1;g=meta.k8s.io`;
    assert.equal((await call('GET', MAPS, { token, headers: { accept } })).code, 406);
    assert.equal(
      (await call('GET', MAPS, { token, headers: { accept: `${accept},application/json` } })).code,
      200,
    );
  });
}

test('[DOOR-4] paths, groups, resources and content types called like built-in properties name nothing', async (t) => {
  const { call } = await attackedServer(t);
  for (const name of BUILT_IN) {
    for (const path of [
      `/${name}`,
      `/api/${name}`,
      `/apis/${name}`,
      `/apis/${name}/v1`,
      `/apis/${name}/v1/${name}`,
      `/api/v1/${name}`,
      `/api/v1/namespaces/default/pods/x/${name}`,
      `/openapi/v3/apis/${name}/v1`,
      `/readyz/${name}`,
    ]) {
      assert.equal((await call('GET', path, { token })).code, 404, path);
    }
    const patched = await call('PATCH', `${MAPS}/a`, {
      token,
      body: '{}',
      headers: { 'content-type': name },
    });
    assert.equal(patched.code, 415);
    const selected = await call('GET', `${MAPS}?fieldSelector=${name}%3Dx`, { token });
    assert.equal(selected.code, 400);
  }
});

test('a negative limit is no limit, as in kube-apiserver', async (t) => {
  const { call } = await attackedServer(t);
  const { items, metadata } = JSON.parse((await call('GET', '/api/v1/namespaces?limit=-5', { token })).text);
  assert.ok(items.length >= 3);
  assert.equal(metadata.continue, undefined);
});

test('a check that does not exist is not found, one that does is answered by its name', async (t) => {
  const { call } = await attackedServer(t);
  for (const [path, code] of [
    ['/readyz/no-such-check', 404],
    ['/livez/storage', 404],
    ['/readyz/storage', 200],
    ['/livez/ping', 200],
  ] as const) {
    assert.equal((await call('GET', path, { token })).code, code, path);
  }
});

test('a body `null` is refused, or means no options', async (t) => {
  const { call } = await attackedServer(t);
  const json = { 'content-type': 'application/json' };
  const created = await call('POST', MAPS, { token, body: '{"metadata":{"name":"a"}}', headers: json });
  assert.equal(created.code, 201);
  const send = (method: string, path: string, type: string) =>
    call(method, path, { token, body: 'null', headers: { 'content-type': type } });
  assert.equal((await send('POST', MAPS, 'application/json')).code, 422);
  assert.equal((await send('PUT', `${MAPS}/a`, 'application/json')).code, 400);
  assert.equal((await send('POST', MAPS, 'application/yaml')).code, 422);
  assert.equal(
    (await send('POST', '/api/v1/namespaces/default/pods/x/binding', 'application/json')).code,
    400,
  );
  assert.equal(
    (await send('POST', '/api/v1/namespaces/default/pods/x/eviction', 'application/json')).code,
    400,
  );
  for (const type of [
    'json-patch+json',
    'merge-patch+json',
    'strategic-merge-patch+json',
    'apply-patch+yaml',
  ]) {
    const answer = await send('PATCH', `${MAPS}/a?fieldManager=x`, `application/${type}`);
    assert.equal(answer.code, 400, `${type}: ${answer.text}`);
  }
  assert.equal((await send('DELETE', `${MAPS}/a`, 'application/json')).code, 200);
});
