// One key twice in an object: two readers of the same text may each take another value for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN_TOKEN, attackedServer, MAPS } from './attacked-server.ts';

const BODIES = {
  json: {
    type: 'application/json',
    text: '{"metadata":{"name":"a"},"data":{"k":"1","x":"}","k":"2"}}',
    found: /duplicate field \\?"data\.k\\?"/,
  },
  'JSON with an escape in the key': {
    type: 'application/json',
    text: '{"metadata":{"name":"a"},"data":{"k":"1","\\u006b":"2"}}',
    found: /duplicate field \\?"data\.k\\?"/,
  },
  yaml: {
    type: 'application/yaml',
    text: 'metadata:\n  name: a\ndata:\n  k: "1"\n  k: "2"\n',
    found: /line 5: key \\*"k\\*" already set in map/,
  },
};

for (const [name, { type, text: body, found }] of Object.entries(BODIES)) {
  test(`[DOOR-2] a key that stands twice is refused, warned of or ignored as asked: ${name}`, async (t) => {
    const { call } = await attackedServer(t);
    const post = (fieldValidation: string) =>
      call('POST', `${MAPS}?fieldValidation=${fieldValidation}&dryRun=All`, {
        token: ADMIN_TOKEN,
        body,
        headers: { 'content-type': type },
      });
    const strict = await post('Strict');
    assert.equal(strict.code, 400, strict.text);
    assert.match(strict.text, /strict decoding error/);
    assert.match(strict.text, found);
    const warned = await post('Warn');
    assert.equal(warned.code, 201, warned.text);
    assert.match(String(warned.headers.warning), found);
    assert.equal(JSON.parse(warned.text).data.k, '2');
    const ignored = await post('Ignore');
    assert.equal(ignored.code, 201);
    assert.equal(ignored.headers.warning, undefined);
  });
}
