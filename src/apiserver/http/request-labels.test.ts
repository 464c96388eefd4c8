import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { Kind } from '../kind.ts';
import { createKindRegistry } from '../kind-registry.ts';
import { readRequestInfo } from './request-info.ts';
import { labelsOf } from './request-labels.ts';

const registry = createKindRegistry([
  { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true, subresources: ['status'] },
  {
    group: 'apps',
    version: 'v1',
    plural: 'deployments',
    kind: 'Deployment',
    namespaced: true,
    subresources: [],
  },
] as unknown as Kind[]);

const POD = '/api/v1/namespaces/a/pods/p';
const none = (verb: string) => `${verb} / - - -`;
/** verb group/version resource subresource scope; `-` for none. */
const rows: [method: string, url: string, labels: string][] = [
  ['GET', POD, 'GET /v1 pods - resource'],
  ['GET', `${POD}/status`, 'GET /v1 pods status resource'],
  ['GET', '/api/v1/pods', 'LIST /v1 pods - cluster'],
  ['GET', '/api/v1/namespaces/a/pods', 'LIST /v1 pods - namespace'],
  ['GET', '/api/v1/pods?watch=1', 'WATCH /v1 pods - cluster'],
  ['GET', '/api/v1/pods?watch=false', 'LIST /v1 pods - cluster'],
  ['GET', '/api/v1/watch/namespaces/a/pods', 'WATCH /v1 pods - namespace'],
  ['POST', '/api/v1/namespaces/a/pods', 'POST /v1 pods - namespace'],
  ['PUT', POD, 'PUT /v1 pods - resource'],
  ['PATCH', POD, 'PATCH /v1 pods - resource'],
  ['DELETE', POD, 'DELETE /v1 pods - resource'],
  ['DELETE', '/api/v1/namespaces/a/pods', 'DELETECOLLECTION /v1 pods - namespace'],
  ['HEAD', POD, 'HEAD /v1 pods - resource'],
  ['GET', '/apis/apps/v1/deployments', 'LIST apps/v1 deployments - cluster'],
  // What no kind serves has no label of its own.
  ['GET', '/api/v1/namespaces/a/inventions', none('GET')],
  ['GET', '/apis/other/v1/pods', none('GET')],
  ['GET', `${POD}/invention`, none('GET')],
  ['GET', '/apis/apps/v1/namespaces/a/deployments/d/status', none('GET')],
  ['GET', '/healthz', none('GET')],
  ['GET', '/api/v1/pods/%zz', none('GET')],
  ['INVENT', '/healthz', none('other')],
  ['INVENT', POD, 'other /v1 pods - resource'],
];
for (const [method, url, expected] of rows) {
  test(`${method} ${url} counts as ${expected}`, () => {
    const found = labelsOf(registry, { method } as IncomingMessage, readRequestInfo(url));
    const { verb, group, version, resource, subresource, scope } = found;
    const rest = [resource, subresource, scope].map((each) => each || '-');
    assert.equal([verb, `${group}/${version}`, ...rest].join(' '), expected);
  });
}
