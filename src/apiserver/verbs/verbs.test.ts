// The behaviour of the verbs, through the local entry point of a whole server.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  configMaps,
  customResourceDefinitions,
  events,
  namespaces,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  pods,
  serviceAccounts,
} from '../../api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../api/object.ts';
import type { KubeClient, WatchEvent, WatchOptions } from '../../runtime/kube/kube.ts';
import {
  isAlreadyExists,
  isConflict,
  isExpired,
  isInvalid,
  isNotFound,
  KubeError,
} from '../../runtime/kube/kube-error.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { testServer } from '../testing/test-server.ts';

const inDefault = (name: string) => ({ namespace: 'default', name });

type ConfigMap = KubeObject & { data?: Record<string, string> };
const maps = configMaps as Resource<ConfigMap>;

async function admin(t: TestContext, options: Parameters<typeof testServer>[1] = {}): Promise<KubeClient> {
  const server = await testServer(t, options);
  return server.client(server.adminUser);
}

const map = (name: string, data: Record<string, string> = {}, metadata: object = {}): Draft<ConfigMap> => ({
  metadata: { ...inDefault(name), ...metadata },
  data,
});

const claim = (name: string, metadata: object = {}): Draft<PersistentVolumeClaim> => ({
  metadata: { ...inDefault(name), ...metadata },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'x',
    resources: { requests: { storage: '1Gi' } },
  },
});

function pod(name: string, spec: object = {}): Draft<KubeObject> {
  return {
    metadata: inDefault(name),
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  } as Draft<KubeObject>;
}

/** The first `count` events of a watch, as `TYPE name`. */
async function firstEvents(
  client: KubeClient,
  resource: Resource,
  count: number,
  options: WatchOptions,
): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of client.watch(resource, options)) {
    seen.push(label(event));
    if (seen.length === count) break;
  }
  return seen;
}

function label(event: WatchEvent<KubeObject>): string {
  if (event.type !== 'BOOKMARK') return `${event.type} ${event.object.metadata.name}`;
  return event.initialEventsEnd ? 'BOOKMARK end of initial events' : 'BOOKMARK';
}

test('create sets uid, creationTimestamp and resourceVersion, and rejects an existing name', async (t) => {
  const client = await admin(t);
  const created = await client.create(maps, map('a', { x: '1' }));
  assert.match(created.metadata.uid, /^[0-9a-f-]{36}$/);
  assert.match(created.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.equal(created.apiVersion, 'v1');
  assert.equal(created.kind, 'ConfigMap');
  await assert.rejects(client.create(maps, map('a')), (error: KubeError) => {
    assert.ok(isAlreadyExists(error));
    assert.equal(error.message, 'configmaps "a" already exists');
    assert.deepEqual(error.details, { name: 'a', kind: 'configmaps' });
    return true;
  });
});

test('generateName makes a name that is not in use', async (t) => {
  const client = await admin(t);
  const names = await Promise.all(
    Array.from({ length: 50 }, () =>
      client.create(maps, { metadata: { namespace: 'default', generateName: 'made-' } }),
    ),
  );
  assert.equal(new Set(names.map(({ metadata }) => metadata.name)).size, 50);
  assert.match(names[0]?.metadata.name ?? '', /^made-[a-z0-9]{5}$/);
});

test('all validation errors of a new object are reported at once, with their paths', async (t) => {
  const client = await admin(t);
  const bad = claim('Bad_Name');
  bad.spec = { ...bad.spec, accessModes: [], resources: {} };
  await assert.rejects(client.create(persistentVolumeClaims, bad), (error: KubeError) => {
    assert.ok(isInvalid(error));
    const fields = error.details.causes?.map(({ field }) => field);
    assert.ok(fields?.includes('metadata.name'), error.message);
    assert.ok(fields?.includes('spec.accessModes'), error.message);
    return true;
  });
});

test('an update with an old resourceVersion conflicts; a no-op update writes nothing', async (t) => {
  const client = await admin(t);
  const first = await client.create(maps, map('a', { x: '1' }));
  const second = await client.update(maps, { ...first, data: { x: '2' } });
  assert.notEqual(second.metadata.resourceVersion, first.metadata.resourceVersion);
  await assert.rejects(client.update(maps, { ...first, data: { x: '3' } }), isConflict);
  const same = await client.update(maps, { ...second });
  assert.equal(same.metadata.resourceVersion, second.metadata.resourceVersion);
  const { resourceVersion: _, ...metadata } = first.metadata;
  const unconditional = await client.update(maps, { metadata, data: { x: '4' } });
  assert.deepEqual(unconditional.data, { x: '4' });
  await assert.rejects(client.update(maps, map('missing')), isNotFound);
});

test('a spec change increments the generation; spec and status are written separately', async (t) => {
  const client = await admin(t);
  const created = await client.create(persistentVolumeClaims, {
    ...claim('a'),
    status: { phase: 'Bound' },
  } as Draft<PersistentVolumeClaim>);
  assert.equal(created.status?.phase, 'Pending');
  const updated = await client.update(
    persistentVolumeClaims,
    { ...created, metadata: { ...created.metadata, labels: { a: 'b' } }, status: { phase: 'Lost' } },
    { subresource: 'status' },
  );
  assert.equal(updated.status?.phase, 'Lost');
  const respecified = await client.update(
    persistentVolumeClaims,
    {
      ...updated,
      spec: { ...updated.spec, resources: { requests: { storage: '9Gi' } } },
      status: { phase: 'Pending' },
    },
    { subresource: 'status' },
  );
  assert.equal(respecified.spec.resources?.requests?.storage, '1Gi');
});

test('an object with finalizers is deleted when the last one is removed', async (t) => {
  const client = await admin(t);
  const created = await client.create(maps, map('a', {}, { finalizers: ['example.com/hold'] }));
  await client.delete(maps, inDefault('a'));
  const marked = await client.get(maps, inDefault('a'));
  assert.ok(marked.metadata.deletionTimestamp);
  assert.equal(marked.metadata.uid, created.metadata.uid);
  const { finalizers: _, ...metadata } = marked.metadata;
  await client.update(maps, { ...marked, metadata });
  await assert.rejects(client.get(maps, inDefault('a')), isNotFound);
});

test('the propagation policies Foreground and Orphan add their finalizers', async (t) => {
  const client = await admin(t);
  for (const [policy, finalizer] of [
    ['Foreground', 'foregroundDeletion'],
    ['Orphan', 'orphan'],
  ] as const) {
    await client.create(maps, map(finalizer.toLowerCase()));
    await client.delete(maps, inDefault(finalizer.toLowerCase()), { propagationPolicy: policy });
    const marked = await client.get(maps, inDefault(finalizer.toLowerCase()));
    assert.deepEqual(marked.metadata.finalizers, [finalizer]);
  }
  await client.create(maps, map('b'));
  await client.delete(maps, inDefault('b'), { propagationPolicy: 'Background' });
  await assert.rejects(client.get(maps, inDefault('b')), isNotFound);
});

test('a deletion respects its preconditions: uid and resourceVersion', async (t) => {
  const client = await admin(t);
  const { metadata } = await client.create(maps, map('a'));
  const wrong = client.delete(maps, inDefault('a'), { preconditions: { uid: 'other' } });
  await assert.rejects(wrong, isConflict);
  await assert.rejects(
    client.delete(maps, inDefault('a'), { preconditions: { resourceVersion: '1' } }),
    isConflict,
  );
  await client.delete(maps, inDefault('a'), { preconditions: { uid: metadata.uid } });
  await assert.rejects(client.get(maps, inDefault('a')), isNotFound);
});

const graces: { name: string; spec: object; grace?: number; left: number | 'gone' }[] = [
  { name: 'unscheduled', spec: {}, left: 'gone' },
  { name: 'scheduled', spec: { nodeName: 'n' }, left: 30 },
  { name: 'own-period', spec: { nodeName: 'n', terminationGracePeriodSeconds: 7 }, left: 7 },
  { name: 'asked', spec: { nodeName: 'n' }, grace: 5, left: 5 },
  { name: 'forced', spec: { nodeName: 'n' }, grace: 0, left: 'gone' },
];
for (const { name, spec, grace, left } of graces) {
  test(`grace period of a pod: ${name}`, async (t) => {
    const client = await admin(t);
    await client.create(pods, pod(name, spec) as never);
    await client.delete(pods, inDefault(name), grace === undefined ? {} : { gracePeriodSeconds: grace });
    const after = await client.get(pods, inDefault(name)).catch(() => undefined);
    assert.equal(after === undefined ? 'gone' : after.metadata.deletionGracePeriodSeconds, left);
  });
}

test('the grace period of a deleted pod can be shortened, never extended', async (t) => {
  const client = await admin(t);
  await client.create(pods, pod('a', { nodeName: 'n' }) as never);
  const grace = async (seconds: number) => {
    await client.delete(pods, inDefault('a'), { gracePeriodSeconds: seconds });
    return (await client.get(pods, inDefault('a'))).metadata.deletionGracePeriodSeconds;
  };
  assert.equal(await grace(20), 20);
  assert.equal(await grace(60), 20);
  assert.equal(await grace(3), 3);
});

test('a patch may put others before a stored element, and move a stored part to where it loses fields', async (t) => {
  const client = await admin(t);
  await client.create(pods, pod('a') as never);
  const binding = { metadata: inDefault('a'), target: { kind: 'Node', name: 'n1' } };
  await client.createSubresource(pods, inDefault('a'), 'binding', binding);
  const conditions = [{ type: 'Initialized', status: 'True' }];
  const options = { type: 'strategic', subresource: 'status' } as const;
  const patched = await client.patch(pods, inDefault('a'), { status: { conditions } }, options);
  assert.deepEqual(patched.status?.conditions?.map(({ type }) => type).toSorted(), [
    'Initialized',
    'PodScheduled',
  ]);
  const move = [{ op: 'move', from: '/spec/containers', path: '/spec/initContainers' }];
  await assert.rejects(client.patch(pods, inDefault('a'), move as never, { type: 'json' }), isInvalid);
  const moved = [{ op: 'move', from: '/spec/tolerations', path: '/metadata/labels' }];
  await assert.rejects(
    client.patch(pods, inDefault('a'), moved as never, { type: 'json' }),
    (error) => error instanceof KubeError && error.code < 500,
  );
});

test('a pod is bound once; an eviction deletes it', async (t) => {
  const client = await admin(t);
  await client.create(pods, pod('a') as never);
  const bind = (node: string) =>
    client.createSubresource(pods, inDefault('a'), 'binding', {
      metadata: inDefault('a'),
      target: { kind: 'Node', name: node },
    });
  await bind('n1');
  const bound = await client.get(pods, inDefault('a'));
  assert.equal(bound.spec.nodeName, 'n1');
  assert.equal(bound.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.status, 'True');
  await assert.rejects(bind('n2'), isConflict);
  await client.createSubresource(pods, inDefault('a'), 'eviction', { metadata: inDefault('a') });
  assert.ok((await client.get(pods, inDefault('a'))).metadata.deletionTimestamp);
});

test('a dry run responds like a write and stores nothing', async (t) => {
  const client = await admin(t);
  const created = await client.create(maps, map('a', { x: '1' }), { dryRun: true });
  assert.deepEqual(created.data, { x: '1' });
  await assert.rejects(client.get(maps, inDefault('a')), isNotFound);
  await client.create(maps, map('a', { x: '1' }));
  const patched = await client.patch(
    maps,
    inDefault('a'),
    { data: { x: '2' } },
    { type: 'merge', dryRun: true },
  );
  assert.deepEqual(patched.data, { x: '2' });
  await client.delete(maps, inDefault('a'), { dryRun: true });
  assert.deepEqual((await client.get(maps, inDefault('a'))).data, { x: '1' });
});

test('unknown fields are rejected with fieldValidation=Strict', async (t) => {
  const client = await admin(t);
  const odd = { ...map('a'), unheardOf: 1 } as Draft<ConfigMap>;
  await assert.rejects(client.create(maps, odd, { fieldValidation: 'Strict' }), {
    message:
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "unheardOf"',
  });
  const created = await client.create(maps, odd, { fieldValidation: 'Ignore' });
  assert.ok(!('unheardOf' in created));
});

test('all pages of a list show the resource version of the first', async (t) => {
  const client = await admin(t);
  for (let at = 0; at < 25; at++) await client.create(maps, map(`m${String(at).padStart(2, '0')}`));
  // kube-root-ca.crt, which the server adds to each namespace, comes first.
  const first = await client.list(maps, { namespace: 'default', limit: 10 });
  assert.equal(first.metadata.remainingItemCount, 16);
  await client.delete(maps, inDefault('m15'));
  await client.create(maps, map('m155'));
  await client.update(maps, map('m16', { changed: 'yes' }));
  const rest: ConfigMap[] = [];
  for (let token = first.metadata.continue; token !== undefined; ) {
    const page = await client.list(maps, { namespace: 'default', limit: 10, continue: token });
    assert.equal(page.metadata.resourceVersion, first.metadata.resourceVersion);
    rest.push(...page.items);
    token = page.metadata.continue;
  }
  const names = [...first.items, ...rest].map(({ metadata }) => metadata.name);
  assert.deepEqual(names, [
    'kube-root-ca.crt',
    ...Array.from({ length: 25 }, (_, at) => `m${String(at).padStart(2, '0')}`),
  ]);
  assert.equal(rest.find(({ metadata }) => metadata.name === 'm16')?.data, undefined);
});

test('a continue token of a compacted version gets 410, with a token to continue inconsistently', async (t) => {
  const client = await admin(t, { history: { maxChanges: 5 } });
  for (let at = 0; at < 6; at++) await client.create(maps, map(`m${at}`));
  const { metadata } = await client.list(maps, { namespace: 'default', limit: 2 });
  for (let at = 0; at < 6; at++) await client.update(maps, map('m0', { at: String(at) }));
  await assert.rejects(
    client.list(maps, { namespace: 'default', continue: metadata.continue ?? '' }),
    (error: KubeError & { continueToken?: string }) => {
      assert.ok(isExpired(error));
      assert.ok(error.continueToken);
      return true;
    },
  );
  const watching = firstEvents(client, maps, 1, { resourceVersion: metadata.resourceVersion });
  await assert.rejects(watching, isExpired);
});

const versions: { name: string; options: object; then: (error: KubeError) => boolean }[] = [
  { name: 'from the future', options: { resourceVersion: '999999' }, then: ({ code }) => code === 504 },
  { name: 'that is none', options: { resourceVersion: 'x' }, then: ({ code }) => code === 400 },
  {
    name: 'matched without being given',
    options: { resourceVersionMatch: 'Exact' },
    then: ({ code }) => code === 422,
  },
  {
    name: 'exactly zero',
    options: { resourceVersion: '0', resourceVersionMatch: 'Exact' },
    then: ({ code }) => code === 422,
  },
  { name: 'in a forged token', options: { continue: 'abc' }, then: ({ code }) => code === 400 },
];
for (const { name, options, then } of versions) {
  test(`a list is rejected at a resource version ${name}`, async (t) => {
    const client = await admin(t);
    await assert.rejects(
      client.list(maps, options),
      (error: KubeError) => error instanceof KubeError && then(error),
    );
  });
}

test('a list with resourceVersionMatch=Exact shows that version', async (t) => {
  const client = await admin(t);
  const { metadata } = await client.create(maps, map('a', { x: '1' }));
  await client.update(maps, map('a', { x: '2' }));
  const { resourceVersion } = metadata;
  const exact = await client.list(maps, {
    namespace: 'default',
    resourceVersion,
    resourceVersionMatch: 'Exact',
  });
  assert.deepEqual(exact.items.find((item) => item.metadata.name === 'a')?.data, { x: '1' });
  const newer = await client.list(maps, { namespace: 'default', resourceVersion });
  assert.deepEqual(newer.items.find((item) => item.metadata.name === 'a')?.data, { x: '2' });
});

test('label and field selectors filter; a field that is not selectable is rejected', async (t) => {
  const client = await admin(t);
  await client.create(maps, map('a', {}, { labels: { app: 'x' } }));
  await client.create(maps, map('b', {}, { labels: { app: 'y' } }));
  await client.create(pods, pod('p', { nodeName: 'n1' }) as never);
  await client.create(pods, pod('q', { nodeName: 'n2' }) as never);
  const names = async (resource: Resource, options: object) =>
    (await client.list(resource, { namespace: 'default', ...options })).items.map(
      ({ metadata }) => metadata.name,
    );
  assert.deepEqual(await names(maps, { labelSelector: 'app in (x)' }), ['a']);
  assert.deepEqual(
    await names(maps, { labelSelector: 'app!=x', fieldSelector: 'metadata.name!=kube-root-ca.crt' }),
    ['b'],
  );
  assert.deepEqual(await names(maps, { fieldSelector: 'metadata.name=b' }), ['b']);
  assert.deepEqual(await names(pods, { fieldSelector: 'spec.nodeName=n2' }), ['q']);
  await assert.rejects(
    names(pods, { fieldSelector: 'spec.other=1' }),
    /field label not supported: spec.other/,
  );
  await assert.rejects(names(pods, { labelSelector: 'a=(' }), { code: 400 });
});

test('a watch sends the changes since a resource version, in order', async (t) => {
  const client = await admin(t);
  const { metadata } = await client.list(maps);
  const { resourceVersion } = metadata;
  const watching = firstEvents(client, maps, 4, { resourceVersion });
  await client.create(maps, map('a'));
  await client.create(maps, map('b'));
  await client.update(maps, map('a', { x: '1' }));
  await client.delete(maps, inDefault('b'));
  assert.deepEqual(await watching, ['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b']);
  const again = await firstEvents(client, maps, 4, { resourceVersion });
  assert.deepEqual(again, ['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b']);
});

test("an object that starts or stops matching a watch's selector is ADDED or DELETED", async (t) => {
  const client = await admin(t);
  await client.create(maps, map('a', {}, { labels: { app: 'y' } }));
  const { metadata } = await client.list(maps);
  for (const app of ['x', 'x2', 'x', 'z']) {
    await client.update(maps, map('a', { app }, { labels: { app } }));
  }
  await client.delete(maps, inDefault('a'));
  const { resourceVersion } = metadata;
  const seen = await firstEvents(client, maps, 4, { resourceVersion, labelSelector: 'app=x' });
  assert.deepEqual(seen, ['ADDED a', 'DELETED a', 'ADDED a', 'DELETED a']);
});

test('a streaming list ends with its initial-events-end bookmark', async (t) => {
  const client = await admin(t);
  await client.create(maps, map('a', {}, { labels: { app: 'x' } }));
  const seen = await firstEvents(client, maps, 2, {
    namespace: 'default',
    labelSelector: 'app=x',
    sendInitialEvents: true,
    allowBookmarks: true,
  });
  assert.deepEqual(seen, ['ADDED a', 'BOOKMARK end of initial events']);
});

test('a quiet watch gets a bookmark every four minutes, and ends at its time-out', async (t) => {
  const clock = new VirtualClock();
  const client = await admin(t, { clock });
  const seen: string[] = [];
  const over = (async () => {
    for await (const event of client.watch(maps, {
      namespace: 'kube-public',
      resourceVersion: (await client.list(maps)).metadata.resourceVersion,
      allowBookmarks: true,
      timeoutSeconds: 600,
    })) {
      seen.push(label(event));
    }
  })();
  await clock.advance(700_000);
  await over;
  assert.deepEqual(seen, ['BOOKMARK', 'BOOKMARK']);
});

test('events expire an hour after they were last seen', async (t) => {
  const clock = new VirtualClock();
  const client = await admin(t, { clock });
  const event = (name: string) => ({
    metadata: inDefault(name),
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    reason: 'Tested',
    message: 'tested',
    type: 'Normal',
  });
  await client.create(events, event('old') as never);
  await clock.advance(1_800_000);
  await client.create(events, event('young') as never);
  await clock.advance(1_900_000);
  const names = async () => (await client.list(events)).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(await names(), ['young']);
  await clock.advance(1_900_000);
  assert.deepEqual(await names(), []);
  assert.equal(clock.pendingTimers, 0);
});

test('an aborted watch throws the abort reason and unsubscribes', async (t) => {
  const client = await admin(t);
  const stop = new AbortController();
  const watching = firstEvents(client, maps, 100, { signal: stop.signal });
  await client.create(maps, map('a'));
  stop.abort(new Error('enough'));
  await assert.rejects(watching, /enough/);
});

test('deletecollection deletes the selected objects', async (t) => {
  const client = await admin(t);
  await client.create(maps, map('a', {}, { labels: { app: 'x' } }));
  await client.create(maps, map('b', {}, { labels: { app: 'x' } }));
  await client.create(maps, map('c'));
  await client.deleteCollection(maps, { namespace: 'default', labelSelector: 'app=x' });
  const { items } = await client.list(maps, { namespace: 'default' });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name).filter((name) => name.length === 1),
    ['c'],
  );
});

test('a namespace gets its default service account, rejects new objects while terminating, and is removed when finalized', async (t) => {
  const client = await admin(t);
  await client.create(namespaces, { metadata: { name: 'n' } } as never);
  await client.get(serviceAccounts, { namespace: 'n', name: 'default' });
  await client.delete(namespaces, { name: 'n' });
  const terminating = await client.get(namespaces, { name: 'n' });
  assert.equal(terminating.status?.phase, 'Terminating');
  await assert.rejects(client.create(maps, { metadata: { namespace: 'n', name: 'late' } }), {
    reason: 'Forbidden',
  });
  await client.update(namespaces, { ...terminating, spec: { finalizers: [] } }, { subresource: 'finalize' });
  await assert.rejects(client.get(namespaces, { name: 'n' }), { reason: 'NotFound' });
});

const widgets: Resource = {
  group: 'example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const widgetDefinition = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced' as const,
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['size'],
                properties: {
                  size: { type: 'integer', minimum: 1 },
                  colour: { type: 'string', default: 'red' },
                },
              },
              status: { type: 'object', properties: { ready: { type: 'boolean' } } },
            },
          },
        },
      },
      {
        name: 'v1beta1',
        served: true,
        storage: false,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
};

test('a CRD serves its kind once established, in all its versions; deleting it deletes its objects', async (t) => {
  const client = await admin(t);
  await assert.rejects(client.list(widgets), isNotFound);
  await client.create(customResourceDefinitions, widgetDefinition as never);
  const crd = await client.get(customResourceDefinitions, { name: 'widgets.example.com' });
  assert.equal(crd.status?.conditions?.find(({ type }) => type === 'Established')?.status, 'True');

  const widget = (size: number) =>
    ({ metadata: inDefault('w'), spec: { size }, status: { ready: true } }) as Draft<KubeObject>;
  await assert.rejects(client.create(widgets, widget(0)), isInvalid);
  const created = (await client.create(widgets, widget(1))) as KubeObject & { spec: object; status?: object };
  assert.deepEqual(created.spec, { size: 1, colour: 'red' });
  assert.equal(created.status, undefined);
  assert.equal(created.metadata.generation, 1);
  const older = await client.get({ ...widgets, version: 'v1beta1' }, inDefault('w'));
  assert.equal(older.apiVersion, 'example.com/v1beta1');

  await client.delete(customResourceDefinitions, { name: 'widgets.example.com' });
  await assert.rejects(client.list(widgets), isNotFound);
  await client.create(customResourceDefinitions, widgetDefinition as never);
  assert.deepEqual((await client.list(widgets)).items, []);
});

test('unchanged parts of a written object share memory with the stored one, also when all of it was sent', async (t) => {
  const client = await admin(t);
  const first = await client.create(persistentVolumeClaims, claim('c', { labels: { a: '1' } }));
  const sent = structuredClone(first);
  sent.metadata.annotations = { b: '2' };
  const second = await client.update(persistentVolumeClaims, sent);
  assert.notEqual(second.metadata.resourceVersion, first.metadata.resourceVersion);
  assert.equal(second.spec, first.spec);
  assert.equal(second.status, first.status);
  assert.equal(second.metadata.labels, first.metadata.labels);
  const grown = { ...second.spec, resources: { requests: { storage: '2Gi' } } };
  await assert.rejects(client.update(persistentVolumeClaims, { ...second, spec: grown }), KubeError);
  const again = structuredClone(second);
  assert.equal(await client.update(persistentVolumeClaims, again), second, 'nothing changed, nothing stored');
});
