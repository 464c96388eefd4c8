// The official JavaScript client against `berth apiserver`: lists, writes, watches, and runs its informer.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  ApiException,
  CoreV1Api,
  KubeConfig,
  makeInformer,
  StorageV1Api,
  Watch,
} from '@kubernetes/client-node';
import { type ServerProcess, startServer } from './server-process.ts';

const namespace = 'default';

describe('@kubernetes/client-node', () => {
  let dir: string;
  let server: ServerProcess;
  const config = new KubeConfig();
  let core: CoreV1Api;

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'client-node-'));
    server = await startServer({ dir });
    config.loadFromFile(server.kubeconfig);
    core = config.makeApiClient(CoreV1Api);
  });
  after(async () => {
    await server.end('SIGTERM');
    await rm(dir, { recursive: true, force: true });
  });

  const map = (name: string, data: Record<string, string> = {}) => ({ metadata: { name, namespace }, data });

  it('lists, reads, creates, replaces, deletes', async () => {
    const { items } = await core.listNamespace();
    assert.ok(items.some(({ metadata }) => metadata?.name === 'default'));
    const created = await core.createNamespacedConfigMap({ namespace, body: map('a', { x: '1' }) });
    assert.ok(created.metadata?.creationTimestamp instanceof Date);
    const replaced = await core.replaceNamespacedConfigMap({
      namespace,
      name: 'a',
      body: { ...created, data: { x: '2' } },
    });
    assert.deepEqual(replaced.data, { x: '2' });
    await assert.rejects(
      core.replaceNamespacedConfigMap({ namespace, name: 'a', body: created }),
      (error: unknown) => error instanceof ApiException && error.code === 409,
    );
    const classes = config.makeApiClient(StorageV1Api);
    await classes.createStorageClass({
      body: { metadata: { name: 'fast' }, provisioner: 'example.com/csi' },
    });
    assert.equal((await classes.readStorageClass({ name: 'fast' })).reclaimPolicy, 'Delete');
    await core.deleteNamespacedConfigMap({ namespace, name: 'a' });
    await assert.rejects(
      core.readNamespacedConfigMap({ namespace, name: 'a' }),
      (error: unknown) => error instanceof ApiException && error.code === 404,
    );
  });

  it('pages through a list', async () => {
    for (let at = 0; at < 7; at++)
      await core.createNamespacedSecret({ namespace, body: { metadata: { name: `s${at}` } } });
    const names: string[] = [];
    let token: string | undefined;
    do {
      const page = await core.listNamespacedSecret({
        namespace,
        limit: 3,
        ...(token ? { _continue: token } : {}),
      });
      names.push(...page.items.map(({ metadata }) => metadata?.name ?? ''));
      token = page.metadata?._continue;
    } while (token);
    assert.deepEqual(names, ['s0', 's1', 's2', 's3', 's4', 's5', 's6']);
  });

  it('watches', async () => {
    const seen: string[] = [];
    const enough = Promise.withResolvers<void>();
    const stop = await new Watch(config).watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { fieldSelector: 'metadata.name=watched' },
      (type: string, object: { metadata: { name: string } }) => {
        seen.push(`${type} ${object.metadata.name}`);
        if (seen.length === 2) enough.resolve();
      },
      () => {},
    );
    await core.createNamespacedConfigMap({ namespace, body: map('watched') });
    await core.deleteNamespacedConfigMap({ namespace, name: 'watched' });
    await enough.promise;
    stop.abort();
    assert.deepEqual(seen, ['ADDED watched', 'DELETED watched']);
  });

  it('runs its informer', async () => {
    await core.createNamespacedConfigMap({ namespace, body: map('before') });
    const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
      core.listNamespacedConfigMap({ namespace }),
    );
    const updated = Promise.withResolvers<string | undefined>();
    const deleted = Promise.withResolvers<string | undefined>();
    informer.on('update', (object) => updated.resolve(object.data?.x));
    informer.on('delete', (object) => deleted.resolve(object.metadata?.name));
    await informer.start();
    assert.equal(informer.get('before', namespace)?.metadata?.name, 'before');
    await core.replaceNamespacedConfigMap({ namespace, name: 'before', body: map('before', { x: '1' }) });
    assert.equal(await updated.promise, '1');
    await core.deleteNamespacedConfigMap({ namespace, name: 'before' });
    assert.equal(await deleted.promise, 'before');
    assert.deepEqual(
      informer.list().map(({ metadata }) => metadata?.name),
      ['kube-root-ca.crt'],
    );
    await informer.stop();
  });
});
