// YAML that takes long to read: many keys in one map, duplicate ones, aliases, depth.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN_TOKEN, attackedServer, MAPS } from './attacked-server.ts';

const token = ADMIN_TOKEN;
const headers = { 'content-type': 'application/yaml' };
const named = (name: string, data: string): string => `metadata:\n  name: ${name}\ndata:\n${data}`;
const manyKeys = (count: number): string =>
  Array.from({ length: count }, (_, i) => `  k${i}: {x: [1,2,3], y: "abc"}\n`).join('');

test('[DOOR-2] others are answered while a large YAML body is read', { timeout: 60_000 }, async (t) => {
  const { call } = await attackedServer(t);
  let isRead = false;
  const large = call('POST', MAPS, { token, headers, body: named('large', manyKeys(25_000)) }).then(
    (answer) => {
      isRead = true;
      return answer;
    },
  );
  for (let count = 0; count < 10; count++) {
    assert.equal((await call('GET', '/api/v1/namespaces/default', { token })).code, 200);
  }
  assert.equal(isRead, false, 'the large body was read first');
  // It is YAML, and no ConfigMap: its values are no strings.
  const { code, text } = await large;
  assert.ok(code === 400 || code === 422, text);
});

for (const { name, body, why } of [
  {
    name: 'more aliases than anyone writes',
    body: named('a', `  x: &x v\n${Array.from({ length: 200 }, (_, i) => `  k${i}: *x\n`).join('')}`),
    why: /aliases/,
  },
  {
    name: 'aliases that unfold into more than a body may have',
    body: named(
      'a',
      Array.from({ length: 9 }, (_, i) =>
        i === 0 ? `  a0: &a0 [${'x,'.repeat(50)}]\n` : `  a${i}: &a${i} [${`*a${i - 1},`.repeat(9)}]\n`,
      ).join(''),
    ),
    why: /alias/i,
  },
  {
    name: 'thousands of levels',
    body: `a: ${'['.repeat(5000)}${']'.repeat(5000)}`,
    why: /nested|call stack/,
  },
]) {
  test(`[DOOR-2] YAML with ${name} is refused`, { timeout: 60_000 }, async (t) => {
    const { call } = await attackedServer(t);
    const answer = await call('POST', MAPS, { token, headers, body });
    assert.equal(answer.code, 400, answer.text);
    assert.match(answer.text, why);
  });
}
