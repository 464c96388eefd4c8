import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Asked, createGate } from './gate.ts';

const TOKEN = 'a'.repeat(64);
const cookieFor = (port: number): string => {
  const asked = { path: '/', token: TOKEN, host: 'localhost', cookie: undefined };
  const admission = createGate(TOKEN, port)(asked);
  assert.ok(admission.kind === 'welcome');
  return admission.cookie.split(';')[0] ?? '';
};
const cookie = cookieFor(7420);

const cases: { what: string; asked: Partial<Asked>; then: string | number }[] = [
  { what: 'the link', asked: { token: TOKEN }, then: 'welcome' },
  {
    what: 'the link under another name of this machine',
    asked: { token: TOKEN, host: 'localhost:9' },
    then: 'welcome',
  },
  { what: 'the link over IPv6', asked: { token: TOKEN, host: '[::1]:7420' }, then: 'welcome' },
  { what: 'the cookie', asked: { cookie }, then: 'admitted' },
  { what: 'the cookie among others', asked: { cookie: `a=b; ${cookie}; c=d` }, then: 'admitted' },
  { what: 'the cookie for data', asked: { path: '/api/live', cookie }, then: 'admitted' },
  { what: 'nothing', asked: {}, then: 401 },
  { what: 'another token', asked: { token: `${TOKEN}a` }, then: 401 },
  { what: 'an empty token', asked: { token: '' }, then: 401 },
  { what: 'the token for anything but the page', asked: { token: TOKEN, path: '/api/live' }, then: 401 },
  { what: "another page's cookie", asked: { cookie: cookieFor(7421) }, then: 401 },
  {
    what: "another page's cookie under our name",
    asked: { cookie: cookieFor(7421).replace('7421', '7420') },
    then: 401,
  },
  { what: 'the token as a cookie', asked: { cookie: `berth-page-7420=${TOKEN}` }, then: 401 },
  { what: 'an empty cookie', asked: { cookie: 'berth-page-7420=' }, then: 401 },
  { what: 'a name that was made to point here', asked: { cookie, host: 'evil.example:7420' }, then: 403 },
  { what: 'a name that begins like ours', asked: { cookie, host: 'localhost.evil.example' }, then: 403 },
  { what: 'no name at all', asked: { cookie, host: undefined }, then: 403 },
];

for (const { what, asked, then } of cases) {
  test(`${what}: ${then}`, () => {
    const given = { path: '/', token: undefined, host: '127.0.0.1:7420', cookie: undefined, ...asked };
    const admission = createGate(TOKEN, 7420)(given);
    assert.equal(admission.kind === 'refused' ? admission.status : admission.kind, then);
  });
}

test('the cookie is kept from scripts and other sites', () => {
  const admission = createGate(
    TOKEN,
    7420,
  )({ path: '/', token: TOKEN, host: 'localhost', cookie: undefined });
  assert.ok(admission.kind === 'welcome');
  assert.match(admission.cookie, /; HttpOnly; SameSite=Strict$/);
});
