import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestText } from './request-text.ts';

const base = { method: 'GET', path: '/api', host: 'kube:6443', headers: {} };

test('head and body, with the length in bytes', () => {
  assert.equal(requestText(base), 'GET /api HTTP/1.1\r\nhost: kube:6443\r\n\r\n');
  assert.equal(
    requestText({ ...base, method: 'POST', headers: { a: 'b', c: ['d', 'e'], none: [] }, body: 'ä' }),
    'POST /api HTTP/1.1\r\nhost: kube:6443\r\na: b\r\nc: d\r\nc: e\r\ncontent-length: 2\r\n\r\nä',
  );
  const bytes = requestText({ ...base, headers: { user: 'ü' }, body: '\xff\0', bodyEncoding: 'latin1' });
  assert.equal(
    bytes,
    'GET /api HTTP/1.1\r\nhost: kube:6443\r\nuser: \xc3\xbc\r\ncontent-length: 2\r\n\r\n\xff\0',
  );
  assert.match(requestText({ ...base, method: 'DELETE' }), /\r\ncontent-length: 0\r\n\r\n$/);
});

test('header injection is rejected, and the error shows no value', () => {
  const secret = 'Bearer secret\r\nx: y';
  const cases = [
    { path: '/a b' },
    { path: '/a\r\nx: y' },
    { path: '/ä' },
    { path: 'api' },
    { path: '' },
    { headers: { authorization: secret } },
    { headers: { authorization: ['fine', 'Bearer secret\0'] } },
    { headers: { 'a: b': 'secret' } },
    { headers: { '': 'secret' } },
  ];
  for (const one of cases) {
    assert.throws(
      () => requestText({ ...base, ...one }),
      (error: Error & { code?: string }) => error.code === 'HTTP_UNSENDABLE' && !/secret/.test(error.message),
      JSON.stringify(one),
    );
  }
});
