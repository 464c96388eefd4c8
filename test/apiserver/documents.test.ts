// Documents about the API, over HTTPS: which paths there are, in which forms, and what is not there.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { isObject, type JsonObject, Side, serverAt } from '../differ/exchange.ts';

async function world(t: TestContext) {
  const staticTokens = new Map([['t', { name: 'admin', groups: ['system:masters'] }]]);
  const server = await testServer(t, { listen: true, staticTokens });
  const access = serverAt(String(server.url), 't');
  t.after(() => access.agent.destroy());
  return (path: string, accept?: string) =>
    new Side(access).take({ method: 'GET', path, headers: { ...(accept && { accept }) } });
}

/** What a document is: its kind, or what it has. */
const shown = (body: unknown): unknown =>
  isObject(body) ? (body.kind ?? Object.keys(body).sort().join(' ')) : typeof body;

const OPENAPI = 'components info openapi paths';
const paths: [path: string, code: number, what: string][] = [
  ['/api', 200, 'APIVersions'],
  ['/api/v1', 200, 'APIResourceList'],
  ['/api/v2', 404, 'Status'],
  ['/api/v1/', 200, 'APIResourceList'],
  ['/apis', 200, 'APIGroupList'],
  ['/apis/apps', 200, 'APIGroup'],
  ['/apis/apps/v1', 200, 'APIResourceList'],
  ['/apis/apps/v9', 404, 'Status'],
  ['/apis/none', 404, 'Status'],
  ['/openapi/v2', 200, 'definitions info paths swagger'],
  ['/openapi/v2/more', 404, 'Status'],
  ['/openapi/v3', 200, 'paths'],
  ['/openapi/v3/api/v1', 200, OPENAPI],
  ['/openapi/v3/api/v1/more', 404, 'Status'],
  ['/openapi/v3/api', 404, 'Status'],
  ['/openapi/v3/apis/apps/v1', 200, OPENAPI],
  ['/openapi/v3/apis/apps', 404, 'Status'],
  ['/openapi/v3/apis/apps/v1/more', 404, 'Status'],
  ['/openapi/v3/other/apps/v1', 404, 'Status'],
  ['/openapi/v4', 404, 'Status'],
  ['/openapi', 404, 'Status'],
  ['/other', 404, 'Status'],
];

test('each path has its document, and others are not found', async (t) => {
  const get = await world(t);
  for (const [path, code, what] of paths) {
    const answer = await get(path);
    assert.deepEqual([path, answer.code, shown(answer.body)], [path, code, what]);
    assert.equal(answer.type, 'application/json');
  }
});

test('aggregated discovery is served to clients that ask for it, at the two roots', async (t) => {
  const get = await world(t);
  const aggregated = (version: string) =>
    `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const groups = (body: unknown) =>
    (body as { items: { metadata: JsonObject }[] }).items.map(({ metadata }) => metadata.name ?? '');
  for (const version of ['v2', 'v2beta1']) {
    const core = await get('/api', aggregated(version));
    assert.equal((core.body as JsonObject).apiVersion, `apidiscovery.k8s.io/${version}`);
    assert.deepEqual(groups(core.body), ['']);
    const others = groups((await get('/apis', aggregated(version))).body);
    assert.ok(others.includes('storage.k8s.io') && !others.includes(''));
  }
  assert.equal(shown((await get('/api/v1', aggregated('v2'))).body), 'APIResourceList');
  assert.equal(
    shown((await get('/apis', `${aggregated('v2')},application/json`)).body),
    'APIGroupDiscoveryList',
  );
});

test('OpenAPI v2 is served in protobuf to clients that ask for it', async (t) => {
  const get = await world(t);
  const protobuf = (separator: string) =>
    `application/com.github.proto-openapi.spec.v2${separator}v1.0+protobuf`;
  for (const separator of ['.', '@']) {
    const { code, type, body } = await get('/openapi/v2', protobuf(separator));
    assert.deepEqual([code, type, typeof body], [200, protobuf('.'), 'string']);
  }
  assert.equal((await get('/openapi/v3', protobuf('.'))).type, 'application/json');
});
