// Who may not write cannot make the server wait for a body, hold one, or parse one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attackedServer, MAPS, sendPart } from './attacked-server.ts';

const NOTHING = Buffer.alloc(0);

for (const [method, path, type] of [
  ['POST', MAPS, 'application/yaml'],
  ['PUT', `${MAPS}/a`, 'application/json'],
  ['PATCH', `${MAPS}/a`, 'application/json-patch+json'],
  ['DELETE', `${MAPS}/a`, 'application/json'],
  ['POST', '/apis/no.such/v1/things', 'application/json'],
] as const) {
  test(`[DOOR-1] an anonymous ${method} of ${type} is refused before its body has come`, {
    timeout: 20_000,
  }, async (t) => {
    const { connect } = await attackedServer(t);
    const headers = [`Content-Type: ${type}`, 'Content-Length: 800000'];
    assert.equal(await sendPart(await connect(), { method, path, headers, part: NOTHING }), 403);
  });
}

test('[DOOR-1] what is wrong with a body is only told to those who may send it', async (t) => {
  const { call } = await attackedServer(t);
  const headers = { 'content-type': 'application/yaml' };
  const { code, text } = await call('POST', MAPS, { body: '{', headers });
  assert.equal(code, 403);
  assert.match(text, /system:anonymous/);
});
