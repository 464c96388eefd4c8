// One cache for several parts, on the real API server: what each is let see, and what is left when one ends.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { type ConfigMap, clusterRoleBindings, clusterRoles, configMaps } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { type ApiServer, createApiServer, type User } from '../../apiserver/index.ts';
import { silentLog } from '../log/log.ts';
import { realRandom } from '../random.ts';
import { realClock } from '../time/clock.ts';
import { createSharedCaches, type SharedCaches } from './shared-caches.ts';

const ports = { clock: realClock, random: realRandom, log: silentLog };
const namespace = 'default';
const byText = ({ data }: ConfigMap) => [data?.text ?? ''];

async function allow(server: ApiServer, user: string): Promise<void> {
  const kube = server.client(server.adminUser);
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }];
  await kube.create(clusterRoles, { metadata: { name: user }, rules });
  await kube.create(clusterRoleBindings, {
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  });
}

describe('the caches of a cluster', () => {
  let server: ApiServer;
  let caches: SharedCaches;
  let watches: string[];
  let stops: AbortController[];

  before(async () => {
    server = await createApiServer({ ...ports, listen: false, freezeObjects: true });
    await allow(server, 'first');
    await allow(server, 'second');
    await server
      .client(server.adminUser)
      .create(configMaps, { metadata: { name: 'there', namespace }, data: { text: 'a' } });
  });

  after(() => server.stop());

  beforeEach(() => {
    const stop = new AbortController();
    stops = [stop];
    watches = [];
    caches = createSharedCaches({ ...ports, kube: clientOf('caches', server.adminUser) }, stop.signal);
  });

  afterEach(() => {
    for (const stop of stops) stop.abort();
  });

  function clientOf(name: string, user: User = { name, groups: ['system:authenticated'] }) {
    const client = server.client(user);
    return {
      ...client,
      watch: ((...args) => {
        watches.push(name);
        return client.watch(...args);
      }) as typeof client.watch,
    };
  }

  function part(name: string) {
    const stop = new AbortController();
    stops.push(stop);
    const informers = caches.informersFor({ ...ports, kube: clientOf(name) });
    return { informers, stop, informer: informers.of(configMaps, { namespace }) };
  }

  it('stores an object once, for all components that may watch its kind', async () => {
    const [first, second] = [part('first'), part('second')];
    const seen: string[] = [];
    first.informer.subscribe({ added: (object) => seen.push(keyOf(object)) });
    // Each has an index of its own under the same name.
    first.informer.addIndex('text', byText);
    second.informer.addIndex('text', ({ metadata }) => [metadata.name]);
    assert.deepEqual([first.informer.hasSynced, seen], [false, []]);
    for (const { informers, stop } of [first, second]) informers.start(stop.signal);
    await Promise.all([first.informers.synced(), second.informers.synced()]);
    assert.equal(first.informer.get('default/there'), second.informer.get('default/there'));
    assert.ok(seen.includes('default/there'));
    assert.deepEqual(first.informer.byIndex('text', 'a').map(keyOf), ['default/there']);
    assert.deepEqual(second.informer.byIndex('text', 'there').map(keyOf), ['default/there']);
    assert.equal(first.informers.of(configMaps, { namespace }), first.informer);
    assert.deepEqual(watches, ['caches']);
  });

  it('gives a component nothing that its account may not watch, until it may', async () => {
    const [first, stranger] = [part('first'), part('stranger')];
    for (const { informers, stop } of [first, stranger]) informers.start(stop.signal);
    await first.informers.synced();
    assert.deepEqual([stranger.informer.hasSynced, stranger.informer.list()], [false, []]);
    await allow(server, 'stranger');
    await stranger.informers.synced();
    assert.ok(stranger.informer.get('default/there'));
    assert.ok(watches.includes('stranger'));
  });

  it('forgets the handlers and indexes of a part that has ended, so that it can be started again', async () => {
    const kube = server.client(server.adminUser);
    const heard: string[] = [];
    const started = async (run: string) => {
      const made = part('first');
      made.informer.addIndex('text', (object) => byText(object));
      made.informer.subscribe({ added: ({ metadata }) => heard.push(`${run} ${metadata.name}`) });
      made.informers.start(made.stop.signal);
      await made.informers.synced();
      return made;
    };
    const old = await started('old');
    old.stop.abort();
    const again = await started('again');
    heard.length = 0;
    await kube.create(configMaps, { metadata: { name: 'new', namespace }, data: { text: 'b' } });
    await again.informer.waitFor('default/new', (object) => object !== undefined);
    assert.deepEqual(heard, ['again new']);
    assert.equal(again.informer.byIndex('text', 'b').length, 1);
    assert.throws(() => old.informer.byIndex('text', 'b'), /no index text/);
  });

  it('does not share informers with selectors', async () => {
    const first = part('first');
    const selected = first.informers.of(configMaps, { namespace, fieldSelector: 'metadata.name=there' });
    first.informers.start(first.stop.signal);
    await first.informers.synced();
    assert.deepEqual(selected.list().map(keyOf), ['default/there']);
    assert.deepEqual(watches.toSorted(), ['caches', 'first']);
  });
});
