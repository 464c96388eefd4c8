// A cluster that has been in use: volumes of one driver, each bound to a claim and attached to a node, with what the components of a
// cluster have written into them. Written through the API, so that a server stores them as it would.
import {
  csiNodes,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
} from '../src/api/kinds.ts';
import {
  ANN_ATTACHED_NODE_ID,
  ANN_BIND_COMPLETED,
  ANN_BOUND_BY_CONTROLLER,
  ANN_PROVISIONED_BY,
  ANN_STORAGE_PROVISIONER,
  attacherFinalizer,
  FINALIZER_PROVISIONER,
  FINALIZER_PV_PROTECTION,
  FINALIZER_PVC_PROTECTION,
} from '../src/api/well-known.ts';
import type { KubeClient } from '../src/runtime/kube/kube.ts';
import { realClock } from '../src/runtime/time/clock.ts';

export const ZONE = 'topology.large.bench/zone';
const ZONES = 3;
const CLASS = 'large';
const WIDTH = 64;
const REPORT_MS = 5_000;
const STATUS = { type: 'merge', subresource: 'status' } as const;

export interface SeedOptions {
  readonly kube: KubeClient;
  readonly driver: string;
  readonly volumes: number;
  readonly nodes: number;
  /** Names the server in the progress. */
  readonly server: string;
}

const zoneOf = (node: number): string => `z${node % ZONES}`;
const nodeName = (index: number): string => `node-${index}`;

export async function seed(options: SeedOptions): Promise<void> {
  const { kube, driver } = options;
  await kube.create(storageClasses, {
    metadata: { name: CLASS },
    provisioner: driver,
    allowVolumeExpansion: true,
  });
  await inParallel(options, { what: 'nodes', count: options.nodes }, async (index) => {
    await makeNode(kube, driver, index);
  });
  await inParallel(options, { what: 'volumes', count: options.volumes }, async (index) => {
    await makeVolume(kube, driver, { name: `volume-${index}`, node: index % options.nodes });
  });
}

async function makeNode(kube: KubeClient, driver: string, index: number): Promise<void> {
  const name = nodeName(index);
  const resources = { cpu: '16', memory: '65840464Ki', pods: '110', 'ephemeral-storage': '101430960Ki' };
  await kube.create(nodes, {
    metadata: {
      name,
      labels: {
        [ZONE]: zoneOf(index),
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
      },
    },
    spec: { podCIDR: `10.${index >> 8}.${index & 255}.0/24` },
  });
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: `Kubelet${type}`,
    message: `kubelet reports ${type} as ${status}`,
    lastHeartbeatTime: '2026-01-01T00:00:00Z',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const status = {
    capacity: resources,
    allocatable: resources,
    conditions: [
      ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => condition(type, 'False')),
      condition('Ready', 'True'),
    ],
    addresses: [
      { type: 'InternalIP', address: `192.168.${index >> 8}.${index & 255}` },
      { type: 'Hostname', address: name },
    ],
    // A kubelet reports up to fifty.
    images: Array.from({ length: 25 }, (_, image) => ({
      names: [
        `registry.test/app-${image}@sha256:${'0123456789abcdef'.repeat(4)}`,
        `registry.test/app-${image}:1`,
      ],
      sizeBytes: 100_000_000 + image,
    })),
  };
  await kube.patch(nodes, { name }, { status }, STATUS);
  await kube.create(csiNodes, {
    metadata: { name },
    spec: { drivers: [{ name: driver, nodeID: name, topologyKeys: [ZONE] }] },
  });
}

async function makeVolume(
  kube: KubeClient,
  driver: string,
  { name, node }: { name: string; node: number },
): Promise<void> {
  const namespace = 'default';
  const accessModes = ['ReadWriteOnce'];
  const claim = await kube.create(persistentVolumeClaims, {
    metadata: {
      name,
      namespace,
      labels: { app: 'large' },
      annotations: {
        [ANN_BIND_COMPLETED]: 'yes',
        [ANN_BOUND_BY_CONTROLLER]: 'yes',
        [ANN_STORAGE_PROVISIONER]: driver,
      },
      finalizers: [FINALIZER_PVC_PROTECTION],
    },
    spec: {
      accessModes,
      storageClassName: CLASS,
      volumeName: name,
      resources: { requests: { storage: '1Gi' } },
    },
  });
  const { uid } = claim.metadata;
  await kube.create(persistentVolumes, {
    metadata: {
      name,
      annotations: { [ANN_PROVISIONED_BY]: driver },
      finalizers: [FINALIZER_PROVISIONER, FINALIZER_PV_PROTECTION, attacherFinalizer(driver)],
    },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes,
      storageClassName: CLASS,
      persistentVolumeReclaimPolicy: 'Delete',
      claimRef: { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid },
      csi: {
        driver,
        volumeHandle: uid,
        volumeAttributes: { 'storage.kubernetes.io/csiProvisionerIdentity': `1-1-${driver}` },
      },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: 'In', values: [zoneOf(node)] }] }],
        },
      },
    },
  });
  const bound = { phase: 'Bound', accessModes, capacity: { storage: '1Gi' } };
  await kube.patch(persistentVolumeClaims, { name, namespace }, { status: bound }, STATUS);
  await kube.patch(persistentVolumes, { name }, { status: { phase: 'Bound' } }, STATUS);
  await kube.create(volumeAttachments, {
    metadata: {
      name,
      annotations: { [ANN_ATTACHED_NODE_ID]: nodeName(node) },
      finalizers: [attacherFinalizer(driver)],
    },
    spec: { attacher: driver, nodeName: nodeName(node), source: { persistentVolumeName: name } },
  });
  await kube.patch(volumeAttachments, { name }, { status: { attached: true } }, STATUS);
}

async function inParallel(
  { server }: { server: string },
  { what, count }: { what: string; count: number },
  make: (index: number) => Promise<void>,
): Promise<void> {
  const startMs = performance.now();
  let reportedMs = startMs;
  let next = 0;
  let made = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      await make(next++);
      made++;
      const nowMs = performance.now();
      if (nowMs - reportedMs < REPORT_MS && made < count) continue;
      reportedMs = nowMs;
      const leftS = Math.round(((nowMs - startMs) / 1000 / made) * (count - made));
      process.stderr.write(`${server}: ${made} of ${count} ${what}${leftS > 0 ? `, ${leftS} s left` : ''}\n`);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
  // The server's caches follow its writes.
  await realClock.sleep(1000);
}
