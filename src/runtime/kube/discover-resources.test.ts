import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createApiServer } from '../../apiserver/index.ts';
import { silentLog } from '../log/log.ts';
import { realRandom } from '../random.ts';
import { realClock } from '../time/clock.ts';
import { discoverResources } from './discover-resources.ts';
import { createHttpKubeClient } from './http-kube-client.ts';
import { KubeError } from './kube-error.ts';
import { loadKubeConfig } from './load-kube-config.ts';

/** A server that answers these documents, and what it is told to throw. */
const serverWith =
  (documents: Record<string, unknown>) =>
  async <T>(path: string): Promise<T> => {
    const document = documents[path];
    if (document instanceof Error) throw document;
    if (document === undefined) throw new KubeError({ reason: 'NotFound', code: 404, message: path });
    return document as T;
  };

const pods = { name: 'pods', kind: 'Pod', namespaced: true, verbs: ['get', 'list'] };
const widget = { name: 'widgets', kind: 'Widget', namespaced: false, verbs: ['list'] };
const core = { '/api/v1': { resources: [pods, { ...pods, name: 'pods/status' }] } };
const group = {
  name: 'example.com',
  versions: [{ version: 'v1' }, { version: 'v2' }],
  preferredVersion: { version: 'v2' },
};

test('each kind counts once, in the preferred version, and subresources not at all', async () => {
  const { resources, unknown } = await discoverResources(
    serverWith({
      ...core,
      '/apis': { groups: [group] },
      '/apis/example.com/v1': { resources: [widget, { ...widget, name: 'olds', kind: 'Old' }] },
      '/apis/example.com/v2': { resources: [widget] },
    }),
  );
  assert.deepEqual(
    resources.map((each) => `${each.group}/${each.version}/${each.plural}/${each.kind}`),
    ['/v1/pods/Pod', 'example.com/v2/widgets/Widget', 'example.com/v1/olds/Old'],
  );
  assert.deepEqual(unknown, []);
});

test('a group whose server is down is named, and the others are listed', async () => {
  const down = new KubeError({ reason: 'ServiceUnavailable', code: 503, message: 'down' });
  const { resources, unknown } = await discoverResources(
    serverWith({ ...core, '/apis': { groups: [group] }, '/apis/example.com/v2': down }),
  );
  assert.deepEqual(
    resources.map(({ plural }) => plural),
    ['pods'],
  );
  assert.deepEqual(unknown, ['example.com/v2', 'example.com/v1']);
});

test('without a response there is no list of kinds', async () => {
  const refused = new KubeError({ reason: 'Forbidden', code: 403, message: 'no' });
  await assert.rejects(discoverResources(serverWith({ ...core, '/apis': refused })), { code: 403 });
});

test('HTTPS and in-process clients discover the same kinds', async (t) => {
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const directory = await mkdtemp(join(tmpdir(), 'berth-discovery-'));
  const kubeconfigPath = join(directory, 'kubeconfig');
  const server = await createApiServer({ ...ports, kubeconfigPath });
  const http = createHttpKubeClient({
    ...ports,
    config: await loadKubeConfig({ path: kubeconfigPath, env: {} }),
  });
  t.after(async () => {
    await http.close();
    await server.stop();
    await rm(directory, { recursive: true });
  });
  const overHttp = await http.servedResources();
  assert.ok(overHttp.resources.some(({ plural }) => plural === 'persistentvolumeclaims'));
  assert.deepEqual(overHttp, await server.client(server.adminUser).servedResources());
});
