// Who owns which field, and the order of lists, as kube-apiserver 1.36 answers. `npm run differ` asks both servers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../differ/exchange.ts';
import { answer, apply, get, map, ownersOf, patch, post, put } from './requests.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const PVCS = '/api/v1/namespaces/default/persistentvolumeclaims';
const PODS = '/api/v1/namespaces/default/pods';
const SETS = '/apis/apps/v1/namespaces/default/daemonsets';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

const metadataOf = (body: JsonObject): JsonObject => body.metadata as JsonObject;
const named = (name: string, more: JsonObject): JsonObject => ({ metadata: { name, ...more } });
const mapWith = (name: string, more: JsonObject): JsonObject => ({ ...map(name), ...named(name, more) });

test('an empty list of owners drops them all, but not through a subresource', async () => {
  const drops = patch('merge', `${MAPS}/reset`, { metadata: { managedFields: [] } });
  const dropped = await answer(post(MAPS, map('reset', { data: { a: '1' } })), drops);
  assert.deepEqual(ownersOf(dropped.body), {});
  const claim = {
    ...named('reset', {}),
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  const kept = await answer(
    post(PVCS, claim),
    patch('merge', `${PVCS}/reset/status`, { metadata: { managedFields: [] } }),
  );
  assert.deepEqual(Object.keys(ownersOf(kept.body)), ['differ/Update']);
});

test('an applier owns what it sets to null, and nothing of a keyed list without elements', async () => {
  const rows: [Json, Json][] = [
    [null, { 'f:metadata': { 'f:finalizers': {} } }],
    [['a/b'], { 'f:metadata': { 'f:finalizers': { 'v:"a/b"': {} } } }],
  ];
  for (const [index, [finalizers, expected]] of rows.entries()) {
    const { body } = await answer(
      apply(`${MAPS}/own${index}`, mapWith(`own${index}`, { finalizers: finalizers as Json })),
    );
    assert.deepEqual(ownersOf(body)['a/Apply'], expected);
  }
  const { body } = await answer(apply(`${MAPS}/own-none`, mapWith('own-none', { finalizers: [] })));
  assert.deepEqual(ownersOf(body), {});
});

test('what the server adds or drops by itself is not owned by the writer, what it drops of his is', async () => {
  const spec = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    dataSource: { kind: 'PersistentVolumeClaim', name: 'other' },
  };
  const claim = await answer(post(PVCS, { ...named('sourced', {}), spec }));
  assert.deepEqual((claim.body.spec as JsonObject).dataSourceRef, { apiGroup: null, ...spec.dataSource });
  const owned = (ownersOf(claim.body)['differ/Update'] as JsonObject)['f:spec'] as JsonObject;
  assert.deepEqual(['f:dataSource' in owned, 'f:dataSourceRef' in owned], [true, false]);

  const namespace = await answer(post('/api/v1/namespaces', named('owned', {})));
  assert.deepEqual(namespace.body.spec, { finalizers: ['kubernetes'] });
  assert.equal((ownersOf(namespace.body)['differ/Update'] as JsonObject)['f:spec'], undefined);

  const lease = await answer(post(LEASES, { ...named('strategic', {}), spec: { strategy: 'Odd' } }));
  assert.deepEqual(lease.body.spec, {});
  assert.deepEqual(ownersOf(lease.body)['differ/Update'], { 'f:spec': { 'f:strategy': {} } });
});

test('an applied list has its own order, and elements of others stay where they were', async () => {
  const holds = (...finalizers: string[]): JsonObject => mapWith('order', { finalizers });
  const rows: [string[], string[], string[]][] = [
    [
      ['a/1', 'a/2', 'a/3'],
      ['a/3', 'a/1'],
      ['a/2', 'a/3', 'a/1'],
    ],
    [
      ['a/1', 'a/2'],
      ['a/0', 'a/2'],
      ['a/1', 'a/0', 'a/2'],
    ],
    [['a/1', 'a/1'], ['a/2'], ['a/1', 'a/1', 'a/2']],
  ];
  for (const [live, applied, expected] of rows) {
    const { code, body } = await answer(
      post(MAPS, holds()),
      patch('merge', `${MAPS}/order?fieldManager=b`, { metadata: { finalizers: live } }),
      apply(`${MAPS}/order`, holds(...applied), 'fieldManager=a&force=true'),
    );
    assert.equal(code, 200);
    assert.deepEqual(metadataOf(body).finalizers, expected);
    await answer(patch('merge', `${MAPS}/order`, { metadata: { finalizers: null } }), {
      method: 'DELETE',
      path: `${MAPS}/order`,
    });
  }
});

test('a key of a list may be left out where its type has a default', async () => {
  const { code, body } = await answer(
    apply(`${PODS}/pull`, {
      apiVersion: 'v1',
      kind: 'Pod',
      ...named('pull', {}),
      spec: { containers: [{ name: 'c', image: 'i' }], imagePullSecrets: [{}] },
    }),
  );
  assert.equal(code, 201, JSON.stringify(body));
  const owned = (ownersOf(body)['a/Apply'] as JsonObject)['f:spec'] as JsonObject;
  assert.deepEqual(Object.keys(owned['f:imagePullSecrets'] as JsonObject), ['k:{"name":""}']);
});

test('a DaemonSet counts the changes of its template', async () => {
  const template = (image: string) => ({
    metadata: { labels: { app: 'x' } },
    spec: { containers: [{ name: 'c', image }] },
  });
  const set = {
    ...named('counted', {}),
    spec: { selector: { matchLabels: { app: 'x' } }, template: template('1') },
  };
  const generation = async (...steps: Parameters<typeof answer>): Promise<Json> => {
    const { body } = await answer(...steps);
    return (metadataOf(body).annotations as JsonObject)['deprecated.daemonset.template.generation'] as Json;
  };
  assert.equal(await generation(post(SETS, set)), '1');
  const change = (spec: JsonObject) => patch('merge', `${SETS}/counted`, { spec });
  assert.equal(await generation(change({ minReadySeconds: 5 })), '1');
  assert.equal(await generation(change({ template: template('2') })), '2');
  assert.equal(await generation(put(`${SETS}/counted`, set), get(`${SETS}/counted`)), '3');
});

test('an applied null removes a value, with a conflict, but not the entries of a map', async () => {
  const owned = post(`${MAPS}?fieldManager=b`, map('nulled', { data: { a: '1' }, immutable: false }));
  const nulls = (query: string) =>
    apply(`${MAPS}/nulled`, map('nulled', { data: null, immutable: null }), query);
  const conflict = await answer(owned, nulls('fieldManager=a'));
  assert.equal(conflict.code, 409);
  const causes = (conflict.body.details as JsonObject).causes as JsonObject[];
  assert.deepEqual(
    causes.map(({ field }) => field),
    ['.immutable'],
  );
  const { code, body } = await answer(nulls('fieldManager=a&force=true'));
  assert.deepEqual([code, body.data, body.immutable], [200, { a: '1' }, undefined]);
  // What cannot be decoded is found after the conflicts.
  const soon = mapWith('nulled', { deletionTimestamp: 'soon', labels: { a: 'b' } });
  const labelled = patch('merge', `${MAPS}/nulled?fieldManager=b`, { metadata: { labels: { a: 'c' } } });
  assert.equal((await answer(labelled, apply(`${MAPS}/nulled`, soon))).code, 409);
  assert.equal((await answer(apply(`${MAPS}/nulled`, soon, 'fieldManager=a&force=true'))).code, 500);
});

test('who replaces the finalizers of a namespace owns them, though only `finalize` changes them', async () => {
  const { body } = await answer(
    post('/api/v1/namespaces', named('held', {})),
    put('/api/v1/namespaces/held?fieldManager=b', { ...named('held', {}), spec: { finalizers: ['a/b'] } }),
  );
  assert.deepEqual(body.spec, { finalizers: ['kubernetes'] });
  assert.deepEqual(ownersOf(body)['b/Update'], { 'f:spec': { 'f:finalizers': {} } });
});
