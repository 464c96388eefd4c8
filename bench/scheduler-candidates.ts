// The scheduler on the embedded API server, everything in this process: nodes in ten zones with a limit on volumes,
// pods whose bound claims each belong to one zone.

import {
  csiNodes,
  nodes,
  type PersistentVolume,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '../src/api/kinds.ts';
import { createApiServer } from '../src/apiserver/index.ts';
import { findNode } from '../src/control-plane/scheduler/find-node.ts';
import { podDemand } from '../src/control-plane/scheduler/node-checks.ts';
import type { CountedVolume } from '../src/control-plane/scheduler/pod-volumes.ts';
import { createScheduler } from '../src/control-plane/scheduler/scheduler.ts';
import { SchedulerCache } from '../src/control-plane/scheduler/scheduler-cache.ts';
import type { VolumeFacts } from '../src/control-plane/scheduler/volume-checks.ts';
import { parseDriverName } from '../src/csi/names/driver-name.ts';
import { createEventRecorder } from '../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import type { Candidate } from './harness.ts';

const ZONES = 10;
const DRIVER = parseDriverName('bench.example');
const zoneOf = (i: number): string => `zone-${i % ZONES}`;
const labelsOf = (i: number): Record<string, string> => ({
  'kubernetes.io/hostname': `node-${i}`,
  'kubernetes.io/os': 'linux',
  'topology.example/zone': zoneOf(i),
});
const inZone = (zone: string): NonNullable<PersistentVolume['spec']['nodeAffinity']> => ({
  required: {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: 'topology.example/zone', operator: 'In', values: [zone] }] },
    ],
  },
});
const allocatable = { cpu: '64', memory: '256Gi', pods: '10000' };
const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '10m', memory: '16Mi' } } }];

async function all(count: number, make: (i: number) => Promise<unknown>): Promise<void> {
  const atOnce = 500;
  for (let from = 0; from < count; from += atOnce) {
    const length = Math.min(atOnce, count - from);
    await Promise.all(Array.from({ length }, (_, i) => make(from + i)));
  }
}

/** The time from the creation of the first pod until the last one is scheduled. */
export async function scheduling(nodeCount: number, podCount: number): Promise<Candidate> {
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const server = await createApiServer({ ...ports, listen: false });
  const kube = server.client(server.adminUser);
  await all(nodeCount, async (i) => {
    const name = `node-${i}`;
    await kube.create(nodes, { metadata: { name, labels: labelsOf(i) } });
    await kube.patch(nodes, { name }, { status: { allocatable } }, { type: 'merge', subresource: 'status' });
    await kube.create(csiNodes, {
      metadata: { name },
      spec: { drivers: [{ name: DRIVER, nodeID: name, topologyKeys: [], allocatable: { count: 5000 } }] },
    });
  });
  const stop = new AbortController();
  const informers = createInformers({ ...ports, kube });
  const recorder = createEventRecorder({ ...ports, kube, component: 'scheduler', signal: stop.signal });
  const scheduler = createScheduler({ ...ports, kube, informers, recorder });
  informers.start(stop.signal);
  const running = scheduler.run(stop.signal);
  await informers.synced();
  const placed = informers.of(pods);
  let round = 0;

  async function prepare(prefix: string): Promise<void> {
    await all(podCount, async (i) => {
      const name = `${prefix}-${i}`;
      const claim = await kube.create(persistentVolumeClaims, {
        metadata: {
          name,
          namespace: 'default',
          annotations: { 'pv.kubernetes.io/bind-completed': 'yes' },
        },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: '',
          volumeName: name,
          resources: { requests: { storage: '1Gi' } },
        },
      });
      await kube.create(persistentVolumes, {
        metadata: { name },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          csi: { driver: DRIVER, volumeHandle: name },
          claimRef: { name, namespace: 'default', uid: claim.metadata.uid },
          nodeAffinity: inZone(zoneOf(i)),
        } as PersistentVolume['spec'],
      });
    });
  }

  let next = prepare('round-0');
  return {
    async round() {
      const prefix = `round-${round++}`;
      await next;
      const startMs = performance.now();
      await all(podCount, (i) =>
        kube.create(pods, {
          metadata: { name: `${prefix}-${i}`, namespace: 'default' },
          spec: specOf(`${prefix}-${i}`),
        }),
      );
      for (let i = 0; i < podCount; i++) {
        await placed.waitFor(`default/${prefix}-${i}`, (pod) => Boolean(pod?.spec.nodeName));
      }
      const elapsedMs = performance.now() - startMs;
      next = prepare(`round-${round}`);
      await next;
      return { operations: podCount, figures: { 'scheduled ms/pod': elapsedMs / podCount } };
    },
    async stop() {
      await next;
      stop.abort();
      await running;
      await server.stop();
    },
  };
}

const specOf = (claimName: string): Pod['spec'] => ({
  containers,
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
});

/** Only the search for a node, without a server: the part that could depend on the size of the cluster. */
export async function searching(nodeCount: number, podCount: number): Promise<Candidate> {
  const cache = new SchedulerCache({
    claim: () => undefined,
    volume: () => undefined,
    storageClass: () => undefined,
    reservedFor: () => [],
    attachmentsOn: () => [],
  });
  const stamp = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  for (let i = 0; i < nodeCount; i++) {
    const metadata = { ...stamp, name: `node-${i}`, labels: labelsOf(i) };
    cache.setNode({ apiVersion: 'v1', kind: 'Node', metadata, status: { allocatable } });
  }
  const facts: VolumeFacts = {
    freeVolumes: () => [],
    publishesCapacity: () => false,
    roomFor: () => 1n,
    isCsiDriver: () => true,
    mustBeInstalled: () => false,
    driverOn: (_driver, { name }) => ({ nodeId: name, topologyKeys: [] }),
    volumeLimit: () => 100_000,
    volumesOn: (info) => cache.volumesOn(info),
  };
  let start = 0;
  let round = 0;
  return {
    async round() {
      const prefix = `round-${round++}`;
      for (let i = 0; i < podCount; i++) {
        const name = `${prefix}-${i}`;
        const pod: Pod = {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { ...stamp, name, namespace: 'default' },
          spec: specOf(name),
        };
        const volume: PersistentVolume = {
          apiVersion: 'v1',
          kind: 'PersistentVolume',
          metadata: { ...stamp, name },
          spec: { csi: { driver: DRIVER, volumeHandle: name }, nodeAffinity: inZone(zoneOf(i)) },
        };
        const found = findNode({
          demand: podDemand(pod),
          volumes: {
            existing: [volume],
            volumeGone: false,
            delayed: [],
            allBound: true,
            byDriver: new Map([[DRIVER, new Set([name as CountedVolume])]]),
            exclusiveClaims: [],
          },
          index: cache.index,
          facts,
          exclusiveClash: false,
          earlier: undefined,
          avoid: new Set(),
          start,
        });
        if (!found.node) throw new Error('no node was found');
        start += found.looked;
        cache.assume(pod, found.node.name);
      }
      for (let i = 0; i < podCount; i++) cache.removePod(`default/${prefix}-${i}`);
      return { operations: podCount };
    },
  };
}
