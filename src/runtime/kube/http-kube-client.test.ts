// The client over a real socket: what it sends for each verb, and how lists, retries and aborts behave.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, persistentVolumeClaims, serviceAccounts, storageClasses } from '../../api/kinds.ts';
import type { Draft, KubeObject } from '../../api/object.ts';
import { createMetrics } from '../metrics/metrics.ts';
import type { KubeClient } from './kube.ts';
import { isConflict, KubeError } from './kube-error.ts';
import { clientFor } from './testing/client-for.ts';
import { type Asked, failure, json, startRecordingServer } from './testing/recording-server.ts';

const claim = { metadata: { name: 'c', namespace: 'ns' }, spec: {} } as Draft<KubeObject> as never;
const pvcs = persistentVolumeClaims;
const named = { namespace: 'ns', name: 'c' };
const CLAIMS = '/api/v1/namespaces/ns/persistentvolumeclaims';

const verbs: {
  name: string;
  call: (kube: KubeClient) => Promise<unknown>;
  sent: Partial<Asked>;
  type?: string;
}[] = [
  { name: 'get', call: (kube) => kube.get(pvcs, named), sent: { method: 'GET', path: `${CLAIMS}/c` } },
  {
    name: 'get cluster-scoped in a group',
    call: (kube) => kube.get(storageClasses, { name: 'a b' }),
    sent: { method: 'GET', path: '/apis/storage.k8s.io/v1/storageclasses/a%20b' },
  },
  {
    name: 'one page',
    call: (kube) => kube.list(pvcs, { limit: 2, continue: 'x', resourceVersion: '5', labelSelector: 'a=b' }),
    sent: {
      method: 'GET',
      path: '/api/v1/persistentvolumeclaims',
      query: { limit: '2', continue: 'x', labelSelector: 'a=b' },
    },
  },
  {
    name: 'list at a version',
    call: (kube) =>
      kube.list(pvcs, {
        namespace: 'ns',
        resourceVersion: '5',
        resourceVersionMatch: 'Exact',
        fieldSelector: 'x=y',
      }),
    sent: {
      path: CLAIMS,
      query: { limit: '500', resourceVersion: '5', resourceVersionMatch: 'Exact', fieldSelector: 'x=y' },
    },
  },
  {
    name: 'create',
    call: (kube) => kube.create(pvcs, claim, { fieldManager: 'm', dryRun: true, fieldValidation: 'Strict' }),
    sent: {
      method: 'POST',
      path: CLAIMS,
      query: { fieldManager: 'm', dryRun: 'All', fieldValidation: 'Strict' },
      body: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'c', namespace: 'ns' },
        spec: {},
      },
    },
    type: 'application/json',
  },
  {
    name: 'update of status',
    call: (kube) => kube.update(pvcs, claim, { subresource: 'status' }),
    sent: { method: 'PUT', path: `${CLAIMS}/c/status` },
    type: 'application/json',
  },
  {
    name: 'json patch',
    call: (kube) => kube.patch(pvcs, named, [{ op: 'remove', path: '/a' }], { type: 'json' }),
    sent: { method: 'PATCH', path: `${CLAIMS}/c`, body: [{ op: 'remove', path: '/a' }] },
    type: 'application/json-patch+json',
  },
  {
    name: 'merge patch of status',
    call: (kube) => kube.patch(pvcs, named, { a: null }, { type: 'merge', subresource: 'status' }),
    sent: { method: 'PATCH', path: `${CLAIMS}/c/status`, body: { a: null } },
    type: 'application/merge-patch+json',
  },
  {
    name: 'strategic patch',
    call: (kube) => kube.patch(pvcs, named, {}, { type: 'strategic' }),
    sent: { method: 'PATCH' },
    type: 'application/strategic-merge-patch+json',
  },
  {
    name: 'apply',
    call: (kube) => kube.patch(pvcs, named, {}, { type: 'apply', force: true, fieldManager: 'm' }),
    sent: { method: 'PATCH', query: { force: 'true', fieldManager: 'm', fieldValidation: 'Ignore' } },
    type: 'application/apply-patch+yaml',
  },
  {
    name: 'delete with preconditions',
    call: (kube) =>
      kube.delete(pvcs, named, {
        preconditions: { uid: 'u', resourceVersion: '7' },
        gracePeriodSeconds: 0,
        propagationPolicy: 'Foreground',
      }),
    sent: {
      method: 'DELETE',
      path: `${CLAIMS}/c`,
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: 'u', resourceVersion: '7' },
        gracePeriodSeconds: 0,
        propagationPolicy: 'Foreground',
      },
    },
  },
  {
    name: 'delete of a collection',
    call: (kube) => kube.deleteCollection(pvcs, { namespace: 'ns', labelSelector: 'a=b' }, { dryRun: true }),
    sent: {
      method: 'DELETE',
      path: CLAIMS,
      query: { labelSelector: 'a=b' },
      body: { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] },
    },
  },
  {
    name: 'token of a service account',
    call: (kube) =>
      kube.createSubresource(serviceAccounts, { namespace: 'ns', name: 'sa' }, 'token', { spec: {} }),
    sent: { method: 'POST', path: '/api/v1/namespaces/ns/serviceaccounts/sa/token', body: { spec: {} } },
  },
];

for (const { name, call, sent, type } of verbs) {
  test(`${name} is sent as Kubernetes expects it, below the server's path`, async () => {
    await using server = await startRecordingServer((_, response) =>
      json(response, 200, { items: [], metadata: {} }),
    );
    await using kube = clientFor({ server: `${server.url}/below/` }, { userAgent: 'berth/test' });
    await call(kube);
    const [asked] = server.asked;
    assert.ok(asked);
    const expected = { ...sent, ...(sent.path ? { path: `/below${sent.path}` } : {}) };
    for (const [field, value] of Object.entries(expected))
      assert.deepEqual(asked[field as keyof Asked], value, field);
    assert.equal(asked.headers['user-agent'], 'berth/test');
    assert.equal(asked.headers.accept, 'application/json');
    if (type !== undefined) assert.equal(asked.headers['content-type'], type);
  });
}

for (const [name, call] of Object.entries({
  'get of a namespaced kind without a namespace': (kube: KubeClient) => kube.get(pvcs, { name: 'c' }),
  'update without a name': (kube: KubeClient) => kube.update(nodes, { metadata: {} } as never),
  'create without a namespace': (kube: KubeClient) => kube.create(pvcs, { metadata: { name: 'c' } } as never),
})) {
  test(`${name} is refused before anything is sent`, async () => {
    await using server = await startRecordingServer((_, response) => json(response, 200, {}));
    await using kube = clientFor({ server: server.url });
    await assert.rejects(call(kube), { reason: 'BadRequest' });
    assert.deepEqual(server.asked, []);
  });
}

const item = (name: string) => ({ metadata: { name, uid: name, resourceVersion: '1' } });

test('a list without a limit is fetched in pages, and items get their type', async () => {
  await using server = await startRecordingServer(({ query }, response) => {
    const page = Number(query.continue ?? 0);
    const more = page < 2 ? { continue: String(page + 1) } : {};
    json(response, 200, { metadata: { resourceVersion: '9', ...more }, items: [item(`n${page}`)] });
  });
  await using kube = clientFor({ server: server.url });
  const list = await kube.list(nodes);
  assert.deepEqual(
    list.items.map((node) => `${node.apiVersion} ${node.kind} ${node.metadata.name}`),
    ['v1 Node n0', 'v1 Node n1', 'v1 Node n2'],
  );
  assert.deepEqual(list.metadata, { resourceVersion: '9' });
});

test('an expired continue token restarts the whole list', async () => {
  await using server = await startRecordingServer(({ query }, response) => {
    if (query.continue) json(response, 410, failure(410, 'Expired'));
    else if (query.limit)
      json(response, 200, { metadata: { resourceVersion: '9', continue: 'x' }, items: [item('old')] });
    else json(response, 200, { metadata: { resourceVersion: '12' }, items: [item('a'), item('b')] });
  });
  await using kube = clientFor({ server: server.url });
  const list = await kube.list(nodes);
  assert.deepEqual(
    list.items.map((node) => node.metadata.name),
    ['a', 'b'],
  );
  assert.equal(list.metadata.resourceVersion, '12');
});

test('429 with Retry-After is repeated for any verb', async () => {
  await using server = await startRecordingServer((_, response, count) => {
    if (count <= 3) json(response, 429, failure(429, 'TooManyRequests'), { 'retry-after': '1' });
    else json(response, 201, item('c'));
  });
  const metrics = createMetrics();
  await using kube = clientFor({ server: server.url }, { metrics });
  const created = await kube.create(pvcs, claim);
  assert.equal(created.metadata.name, 'c');
  assert.equal(server.asked.length, 4);
  assert.match(await metrics.text(), /rest_client_requests_total\{code="429",method="POST",host="[^"]+"\} 3/);
});

test('endless 429 responses end in an error with the server’s Retry-After', async () => {
  await using server = await startRecordingServer((_, response) =>
    json(response, 429, failure(429, 'TooManyRequests'), { 'retry-after': '1' }),
  );
  await using kube = clientFor({ server: server.url });
  await assert.rejects(kube.get(nodes, { name: 'a' }), (error: KubeError) => {
    assert.equal(error.reason, 'TooManyRequests');
    assert.equal(error.details.retryAfterSeconds, 1);
    return true;
  });
  assert.equal(server.asked.length, 11);
});

test('503 with Retry-After is retried for idempotent requests only', async () => {
  await using server = await startRecordingServer((_, response, count) => {
    if (count % 2 === 1) json(response, 503, failure(503, 'ServiceUnavailable'), { 'retry-after': '1' });
    else json(response, 200, item('c'));
  });
  await using kube = clientFor({ server: server.url });
  await kube.update(pvcs, claim);
  await kube.patch(pvcs, named, {}, { type: 'merge' });
  assert.equal(server.asked.length, 4);
  await assert.rejects(kube.create(pvcs, claim), { reason: 'ServiceUnavailable' });
  await kube.get(nodes, { name: 'a' });
  assert.equal(server.asked.length, 6);
  await assert.rejects(kube.patch(pvcs, named, [], { type: 'json' }), { reason: 'ServiceUnavailable' });
});

test('500 without Retry-After is not repeated', async () => {
  await using server = await startRecordingServer((_, response) =>
    json(response, 500, failure(500, 'InternalError')),
  );
  await using kube = clientFor({ server: server.url });
  await assert.rejects(kube.get(nodes, { name: 'a' }), { reason: 'InternalError', code: 500 });
  assert.equal(server.asked.length, 1);
});

test('a kept connection that the server closed is replaced for reads, not for writes', async () => {
  await using server = await startRecordingServer((_, response, count) => {
    if (count === 1 || count === 3) response.destroy();
    else json(response, 200, item('c'));
  });
  await using kube = clientFor({ server: server.url });
  await kube.get(nodes, { name: 'a' });
  await assert.rejects(kube.create(pvcs, claim), { reason: 'Unreachable' });
  assert.equal(server.asked.length, 3);
});

test('an endless response is aborted', async () => {
  await using server = await startRecordingServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const piece = ' '.repeat(64 << 10);
    const pour = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', pour);
    pour();
  });
  await using kube = clientFor({ server: server.url });
  await assert.rejects(kube.get(pvcs, { namespace: 'default', name: 'data' }), {
    reason: 'Unreachable',
    message: /does not stop answering \(the answer is longer than 33554432 bytes\)/,
  });
});

test('a conflict has the server’s message', async () => {
  const details = { name: 'c', kind: 'persistentvolumeclaims' };
  await using server = await startRecordingServer((_, response) =>
    json(response, 409, failure(409, 'Conflict', { details })),
  );
  await using kube = clientFor({ server: server.url });
  const error = await kube.update(pvcs, claim).catch((thrown: unknown) => thrown);
  assert.ok(isConflict(error) && error instanceof KubeError);
  assert.equal(error.message, 'Conflict it is');
  assert.deepEqual(error.details, details);
});

test('an abort rejects with the reason: under way, waiting to retry, and before the start', async () => {
  const arrived = Promise.withResolvers<void>();
  await using server = await startRecordingServer(({ path }, response) => {
    arrived.resolve();
    if (path.endsWith('busy')) json(response, 429, failure(429, 'TooManyRequests'), { 'retry-after': '30' });
  });
  await using kube = clientFor({ server: server.url });
  const stop = new AbortController();
  const reason = new Error('stop it');
  const running = Promise.allSettled([
    kube.get(nodes, { name: 'mute' }, { signal: stop.signal }),
    kube.get(nodes, { name: 'busy' }, { signal: stop.signal }),
  ]);
  await arrived.promise;
  stop.abort(reason);
  for (const outcome of await running) assert.equal(outcome.status === 'rejected' && outcome.reason, reason);
  await assert.rejects(kube.list(nodes, { signal: stop.signal }), reason);
});

test('a server that answers 429 gets no more concurrent requests, and all are answered', async () => {
  let underWay = 0;
  let most = 0;
  await using server = await startRecordingServer((_, response) => {
    most = Math.max(most, ++underWay);
    const first = server.asked.length <= 32;
    setImmediate(() => {
      underWay--;
      if (first) json(response, 429, failure(429, 'TooManyRequests'), { 'retry-after': '0' });
      else json(response, 200, item('c'));
    });
  });
  await using kube = clientFor({ server: server.url });
  await Promise.all(Array.from({ length: 300 }, () => kube.get(nodes, { name: 'a' })));
  assert.equal(server.asked.length, 332);
  assert.ok(most <= 32, `${most} at once`);
});
