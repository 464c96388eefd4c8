// The controllers on a real kube-apiserver and on the embedded one, over HTTPS, through the same story: both must end in
// the same states. The real one comes from BERTH_PEERS.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type CSINode,
  configMaps,
  csiNodes,
  namespaces,
  nodes,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  statefulSets,
  storageClasses,
} from '../../src/api/kinds.ts';
import type { KubeObject, Resource } from '../../src/api/object.ts';
import { draft } from '../../src/apiserver/testing/test-server.ts';
import { controllers } from '../../src/control-plane/index.ts';
import { claim, pod, volume } from '../../src/control-plane/testing/objects.ts';
import { createEventRecorder } from '../../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import type { Informers } from '../../src/runtime/informer/informer.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { isNotFound } from '../../src/runtime/kube/kube-error.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { startServer } from '../apiserver/server-process.ts';
import { missingPeers } from '../capabilities.ts';
import { startKubeApiserver } from '../interop/kube-apiserver.ts';

const merge = { type: 'merge' } as const;
const named = (name: string, namespace = 'default') => ({ name, namespace });
const free = { metadata: { finalizers: null } };

/** Tells the story on the server of this kubeconfig; what is left at the end, without what differs by nature. */
async function story(kubeconfig: string): Promise<object> {
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const kube = createHttpKubeClient({
    ...ports,
    config: await loadKubeConfig({ path: kubeconfig, env: {} }),
  });
  const stop = new AbortController();
  const informers = createInformers({ ...ports, kube });
  const recorder = createEventRecorder({ ...ports, kube, component: 'test', signal: stop.signal });
  const runs = controllers.map(({ create }) =>
    create({ ...ports, kube, discovery: kube, informers, recorder }).run(stop.signal),
  );
  const seen = createInformers({ ...ports, kube });
  seen.start(stop.signal);
  informers.start(stop.signal);
  try {
    return await tell(kube, seen);
  } finally {
    stop.abort();
    await Promise.all(runs);
    await kube.close();
  }
}

async function tell(kube: KubeClient, seen: Informers): Promise<object> {
  const is = <T extends KubeObject>(resource: Resource<T>, key: string, wanted: (object: T) => unknown) =>
    seen.of(resource).waitFor(key, (object) => object !== undefined && Boolean(wanted(object)));
  const gone = (resource: Resource, key: string) =>
    seen.of(resource).waitFor(key, (object) => object === undefined);
  const ready = (each: Pod): void => {
    if (each.metadata.deletionTimestamp || each.status?.phase !== 'Pending') return;
    if (!each.metadata.name.startsWith('web-')) return;
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    kube
      .patch(pods, named(each.metadata.name), { status }, { ...merge, subresource: 'status' })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  };
  seen.of(pods).subscribe({ added: ready, updated: (_before, after) => ready(after) });

  // Claims and volumes.
  await kube.create(storageClasses, { metadata: { name: 'fast' }, provisioner: 'driver.example' });
  await kube.create(persistentVolumes, volume('v-small', { capacity: { storage: '1Gi' } }));
  await kube.create(persistentVolumes, volume('v-named', { capacity: { storage: '9Gi' } }));
  await kube.create(persistentVolumes, volume('v-kept', { claimRef: named('late') }));
  await is(persistentVolumes, 'v-small', ({ status }) => status?.phase === 'Available');
  await kube.create(persistentVolumeClaims, claim('named', { volumeName: 'v-named' }));
  for (const name of ['going', 'late']) {
    await kube.create(persistentVolumeClaims, claim(name));
    await is(persistentVolumeClaims, `default/${name}`, ({ status }) => status?.phase === 'Bound');
  }
  await kube.create(persistentVolumeClaims, claim('made', { storageClassName: 'fast' }));
  await kube.create(persistentVolumeClaims, claim('classless', { storageClassName: 'missing' }));
  await is(persistentVolumeClaims, 'default/made', ({ metadata }) => metadata.annotations);
  await is(persistentVolumeClaims, 'default/named', ({ status }) => status?.phase === 'Bound');
  await kube.create(pods, pod('user', { nodeName: 'n', volumes: [mount('late')] }));
  for (const name of ['going', 'late']) await kube.delete(persistentVolumeClaims, named(name));
  await is(persistentVolumes, 'v-small', ({ status }) => status?.phase === 'Released');
  await kube.delete(persistentVolumes, { name: 'v-named' });
  await kube.patch(persistentVolumes, { name: 'v-named' }, free, merge);
  await is(persistentVolumeClaims, 'default/named', ({ status }) => status?.phase === 'Lost');

  // Owners.
  const node = await kube.create(nodes, { metadata: { name: 'm' } });
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'm', uid: node.metadata.uid }];
  await kube.create(
    csiNodes,
    draft<CSINode>({ metadata: { name: 'm', ownerReferences }, spec: { drivers: [] } }),
  );
  await kube.delete(nodes, { name: 'm' });
  await gone(csiNodes, 'm');

  // A set, a pod with a claim of its own, a namespace.
  await kube.create(statefulSets, {
    metadata: named('web'),
    spec: {
      replicas: 2,
      serviceName: 'web',
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim('x').spec }],
    },
  });
  await is(statefulSets, 'default/web', ({ status }) => status?.readyReplicas === 2);
  await kube.patch(statefulSets, named('web'), { spec: { replicas: 1 } }, merge);
  await is(statefulSets, 'default/web', ({ status }) => status?.replicas === 1);
  const scratch = { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: claim('x').spec } } };
  await kube.create(pods, pod('p', { volumes: [scratch] }));
  await is(persistentVolumeClaims, 'default/p-scratch', () => true);
  await kube.create(namespaces, { metadata: { name: 'n' } });
  await kube.create(configMaps, { metadata: { ...named('held', 'n'), finalizers: ['example.com/hold'] } });
  await kube.delete(namespaces, { name: 'n' });
  const held = await is(namespaces, 'n', ({ status }) =>
    status?.conditions?.some(
      (each) => each.type === 'NamespaceFinalizersRemaining' && each.status === 'True',
    ),
  );
  await kube.patch(configMaps, named('held', 'n'), free, merge);
  await gone(namespaces, 'n');

  const all = async <T extends KubeObject>(resource: Resource<T>, shown: (object: T) => object) =>
    Object.fromEntries((await kube.list(resource)).items.map((each) => [each.metadata.name, shown(each)]));
  return {
    volumes: await all(persistentVolumes, ({ metadata, spec, status }) => ({
      ...common(metadata),
      phase: status?.phase,
      claim: spec.claimRef?.name,
      isByUid: spec.claimRef?.uid !== undefined,
    })),
    claims: await all(persistentVolumeClaims, ({ metadata, spec, status }) => ({
      ...common(metadata),
      labels: metadata.labels,
      phase: status?.phase,
      volume: spec.volumeName,
      capacity: status?.capacity,
      accessModes: status?.accessModes,
    })),
    pods: await all(pods, ({ metadata, spec }) => ({
      ...common(metadata),
      labels: Object.keys(metadata.labels ?? {}).sort(),
      volumes: (spec.volumes ?? []).map(({ name }) => name).filter((name) => !name.startsWith('kube-api')),
    })),
    set: await all(statefulSets, ({ status }) => ({ ...status, currentRevision: 0, updateRevision: 0 })),
    namespace: (held?.status?.conditions ?? []).map(({ type, status, message }) => [type, status, message]),
  };
}

const mount = (claimName: string) => ({ name: 'v', persistentVolumeClaim: { claimName } });

function common({ annotations, finalizers, ownerReferences, deletionTimestamp }: KubeObject['metadata']) {
  return {
    annotations: annotations ?? {},
    finalizers: finalizers ?? [],
    owners: (ownerReferences ?? []).map(({ kind, name }) => `${kind} ${name}`),
    isGoing: deletionTimestamp !== undefined,
  };
}

/** Runs with a directory of its own, which goes at the end. */
async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-same-'));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

test('the controllers leave the same states on a real kube-apiserver as on the embedded one', {
  skip: missingPeers('etcd', 'kube-apiserver'),
}, async () => {
  const embedded = await inDirectory(async (dir) => {
    const server = await startServer({ dir });
    return story(server.kubeconfig).finally(() => server.end('SIGTERM'));
  });
  const real = await inDirectory(async (directory) => {
    const server = await startKubeApiserver(directory);
    return story(server.kubeconfig).finally(() => server.stop());
  });
  assert.deepEqual(embedded, real);
});
