// What every component stands on, against a real kube-apiserver: the client, informers, leases, events; and the
// manifests of deploy/, which it must take as they are. Needs the official programs of BERTH_PEERS.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import {
  type ConfigMap,
  configMaps,
  customResourceDefinitions,
  events,
  leases,
  namespaces,
  persistentVolumes,
} from '../../src/api/kinds.ts';
import { apiVersionOf, type Draft, type KubeObject } from '../../src/api/object.ts';
import { resourceOfManifest } from '../../src/cli/objects/find-resource.ts';
import { createEventRecorder } from '../../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient, type HttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import { isConflict, isInvalid } from '../../src/runtime/kube/kube-error.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { runWithLease } from '../../src/runtime/leases/run-with-lease.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { missingPeers } from '../capabilities.ts';
import { type KubeApiserver, startKubeApiserver } from './kube-apiserver.ts';

const ports = { clock: realClock, random: realRandom, log: silentLog };
const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));
const named = (name: string) => ({ name, namespace: 'default' });

const at = (object: unknown, path: string) =>
  path.split('.').reduce((value, key) => (value as Record<string, unknown>)[key], object);

async function manifests(folder: string): Promise<Draft<KubeObject>[]> {
  const files = await readdir(join(deploy, folder));
  const texts = await Promise.all(files.map((file) => readFile(join(deploy, folder, file), 'utf8')));
  const documents = texts.flatMap((text) => [...parseAllDocuments(text)]);
  return documents.map((document) => document.toJS()).filter((object) => object !== null);
}

describe('on a real kube-apiserver', { skip: missingPeers('etcd', 'kube-apiserver') }, () => {
  let directory = '';
  let server: KubeApiserver | undefined;
  let kube: HttpKubeClient;
  const stop = new AbortController();
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'rt-'));
    server = await startKubeApiserver(directory);
    kube = createHttpKubeClient({
      ...ports,
      config: await loadKubeConfig({ path: server.kubeconfig, env: {} }),
    });
  });
  after(async () => {
    stop.abort();
    await kube?.close();
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('brief writes leave the server with the same objects, and their callers with the version', async () => {
    const draft = (name: string, brief: boolean) => ({
      metadata: {
        name,
        annotations: { 'example.com/words': 'grüße 日本', brief: String(brief) },
        finalizers: ['example.com/stay'],
      },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce' as const],
        persistentVolumeReclaimPolicy: 'Retain' as const,
        claimRef: {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          namespace: 'default',
          name: 'c',
          uid: 'u',
        },
        csi: { driver: 'd', volumeHandle: name, volumeAttributes: { a: 'b' } },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }] }],
          },
        },
      },
    });
    const told = ['metadata.uid', 'metadata.resourceVersion'];
    for (const name of ['first', 'second', 'third']) {
      const written = await kube.create(persistentVolumes, draft(name, true), { brief: true });
      const read = await kube.get(persistentVolumes, { name });
      for (const path of told) assert.equal(at(written, path), at(read, path), path);
      const { status: _status, ...sameAs } = await kube.create(
        persistentVolumes,
        draft(`${name}-json`, true),
      );
      assert.deepEqual(JSON.parse(JSON.stringify(read.spec).replaceAll(name, `${name}-json`)), sameAs.spec);
      assert.deepEqual(read.metadata.annotations, sameAs.metadata.annotations);
      const changed = { ...written, metadata: { ...written.metadata, annotations: { changed: 'yes' } } };
      const updated = await kube.update(persistentVolumes, changed, { brief: true });
      const after = await kube.get(persistentVolumes, { name });
      assert.equal(updated.metadata.resourceVersion, after.metadata.resourceVersion);
      assert.deepEqual(after.metadata.annotations, { changed: 'yes' });
      assert.deepEqual(after.spec, read.spec);
      await assert.rejects(kube.update(persistentVolumes, changed, { brief: true }), isConflict);
    }
    const known = await kube.get(persistentVolumes, { name: 'first' });
    const patch = { metadata: { labels: { l: 'm' }, annotations: { changed: null, words: 'grüße' } } };
    const patched = await kube.patch(persistentVolumes, { name: 'first' }, patch, { type: 'merge', known });
    const whole = await kube.get(persistentVolumes, { name: 'first' });
    const { managedFields: _managed, ...metadata } = whole.metadata;
    assert.deepEqual(patched, { ...whole, metadata });
    const bad = { ...draft('bad', true), spec: { ...draft('bad', true).spec, accessModes: [] } };
    await assert.rejects(kube.create(persistentVolumes, bad, { brief: true }), isInvalid);
  });

  test('every published definition is accepted, established and served', async () => {
    const drafts = await manifests('crds');
    const informers = createInformers({ ...ports, kube });
    informers.start(stop.signal);
    for (const draft of drafts) {
      await kube.create(customResourceDefinitions, draft as never, { fieldValidation: 'Strict' });
      const established = await informers
        .of(customResourceDefinitions)
        .waitFor(
          draft.metadata.name ?? '',
          (object) =>
            object?.status?.conditions?.some(
              ({ type, status }) => type === 'Established' && status === 'True',
            ) ?? false,
        );
      const problems = established?.status?.conditions?.filter(
        ({ type, status }) => type === 'NonStructuralSchema' && status === 'True',
      );
      assert.deepEqual(problems, [], draft.metadata.name);
    }
    assert.equal(drafts.length, 11);
  });

  test('[DEP-2] every published role is accepted', async () => {
    const { resources } = await kube.servedResources();
    await kube.create(namespaces, { metadata: { name: 'csi-secrets' } });
    for (const draft of await manifests('rbac')) {
      const { apiVersion = '', kind = '' } = draft;
      const resource = resourceOfManifest(resources, { apiVersion, kind });
      assert(resource, `${apiVersion} ${kind}`);
      const made = await kube.create(resource, draft, { fieldValidation: 'Strict' });
      assert.equal(made.apiVersion, apiVersionOf(resource));
    }
  });

  test('an informer follows, a stale write is refused, a bad one says why', async () => {
    const informers = createInformers({ ...ports, kube });
    const maps = informers.of(configMaps, { namespace: 'default' });
    informers.start(stop.signal);
    await maps.synced();
    const first = await kube.create(configMaps, { metadata: named('m'), data: { a: '1' } });
    await maps.waitFor('default/m', (object) => object?.data?.a === '1');
    await kube.patch(configMaps, named('m'), { data: { a: '2' } }, { type: 'merge' });
    const second = await maps.waitFor('default/m', (object) => object?.data?.a === '2');
    await assert.rejects(kube.update(configMaps, { ...first, data: {} } as ConfigMap), isConflict);
    await assert.rejects(kube.create(configMaps, { metadata: named('Not A Name') }), isInvalid);
    await kube.update(configMaps, { ...second, data: { a: '3' } } as ConfigMap);
    await maps.waitFor('default/m', (object) => object?.data?.a === '3');
    await kube.delete(configMaps, named('m'));
    await maps.waitFor('default/m', (object) => object === undefined);
  });

  test('the lease has one holder, and the next one takes it when it is given back', async () => {
    const order: string[] = [];
    const candidate = (identity: string) => {
      const own = new AbortController();
      const leads = Promise.withResolvers<void>();
      const running = runWithLease(
        { ...ports, kube, namespace: 'default', name: 'leader', identity },
        async (signal) => {
          order.push(identity);
          leads.resolve();
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          order.push(`${identity} ends`);
        },
        own.signal,
      );
      return {
        leads: leads.promise,
        async end() {
          own.abort();
          await running;
        },
      };
    };
    const one = candidate('one');
    await one.leads;
    const two = candidate('two');
    await one.end();
    await two.leads;
    const { spec } = await kube.get(leases, named('leader'));
    assert.deepEqual([spec?.holderIdentity, spec?.leaseTransitions], ['two', 1]);
    await two.end();
    assert.deepEqual(order, ['one', 'one ends', 'two', 'two ends']);
  });

  test('events are written, and what repeats is counted on one', async () => {
    const subject = await kube.create(configMaps, { metadata: named('subject') });
    const recorder = createEventRecorder({ ...ports, kube, component: 'test', signal: stop.signal });
    recorder.event(subject, 'Warning', 'Broken', 'it broke');
    await recorder.flush();
    recorder.event(subject, 'Warning', 'Broken', 'it broke');
    await recorder.flush();
    const { items } = await kube.list(events, {
      namespace: 'default',
      fieldSelector: 'involvedObject.name=subject',
    });
    assert.deepEqual(
      items.map(({ reason, message, count }) => [reason, message, count]),
      [['Broken', 'it broke', 2]],
    );
  });
});
