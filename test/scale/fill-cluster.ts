// Fills a cluster with volumes in use, as they are once everything has come to rest: for each a claim, a PersistentVolume, a
// VolumeAttachment and a running pod, spread over nodes in ten zones.

import {
  csiNodes,
  leases,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  volumeAttachments,
} from '../../src/api/kinds.ts';
import { attachmentName } from '../../src/api/volumes.ts';
import { ANN_ATTACHED_NODE_ID, ANN_ATTACHED_VOLUME } from '../../src/api/well-known.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';

export const ZONE = 'topology.bench/zone';
export const CLASS = 'bench';
const ZONES = 10;
const AT_ONCE = 48;
const NAMESPACE = 'filled';
const GIB = '1Gi';

export interface Filling {
  readonly driver: string;
  readonly volumes: number;
  readonly nodes: number;
  readonly progress?: (text: string) => void;
}

export const nodeName = (index: number): string => `node-${index}`;
export const zoneOf = (index: number): string => `z${index % ZONES}`;
/** As long as a provisioner's, which has the claim's UID in it. */
export const volumeNameOf = (index: number): string =>
  `pvc-00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
export const handleOf = (index: number): string => `${volumeNameOf(index)}-0123456789abcdef`;
const brief = { brief: true } as const;
const status = { type: 'merge', subresource: 'status' } as const;

export async function fillCluster(kube: KubeClient, filling: Filling): Promise<void> {
  const { driver, progress = () => {} } = filling;
  await kube.create(namespaces, { metadata: { name: NAMESPACE } });
  await kube.create(storageClasses, {
    metadata: { name: CLASS },
    provisioner: driver,
    allowVolumeExpansion: true,
    volumeBindingMode: 'Immediate',
  });
  await each(filling.nodes, async (index) => {
    if (index % 1000 === 0) progress(`${index} of ${filling.nodes} nodes`);
    await makeNode(kube, driver, index);
  });
  await each(filling.volumes, async (index) => {
    if (index % 5000 === 0) progress(`${index} of ${filling.volumes} volumes`);
    await makeVolume(kube, { driver, index, node: index % Math.max(1, filling.nodes) });
  });
}

async function each(count: number, make: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await make(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function makeNode(kube: KubeClient, driver: string, index: number): Promise<void> {
  const name = nodeName(index);
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    [ZONE]: zoneOf(index),
  };
  await kube.create(nodes, {
    metadata: { name, labels, annotations: { 'csi.volume.kubernetes.io/nodeid': `{"${driver}":"${name}"}` } },
    spec: { podCIDR: '10.0.0.0/24' },
  });
  const allocatable = { cpu: '64', memory: '256Gi', pods: '250', 'ephemeral-storage': '100Gi' };
  const conditions = [
    { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' },
    { type: 'MemoryPressure', status: 'False', reason: 'KubeletHasSufficientMemory' },
    { type: 'DiskPressure', status: 'False', reason: 'KubeletHasNoDiskPressure' },
    { type: 'PIDPressure', status: 'False', reason: 'KubeletHasSufficientPID' },
  ];
  const addresses = [{ type: 'InternalIP', address: `10.${(index >> 8) & 255}.${index & 255}.1` }];
  await kube.patch(nodes, { name }, { status: { allocatable, conditions, addresses } }, status);
  await kube.create(csiNodes, {
    metadata: { name },
    spec: {
      drivers: [{ name: driver, nodeID: name, topologyKeys: [ZONE], allocatable: { count: 250 } }],
    },
  });
  await kube.create(leases, {
    metadata: { name, namespace: 'kube-node-lease' },
    spec: { holderIdentity: name, leaseDurationSeconds: 40 },
  });
}

async function makeVolume(
  kube: KubeClient,
  { driver, index, node }: { driver: string; index: number; node: number },
): Promise<void> {
  const name = `data-${index}`;
  const at = { name, namespace: NAMESPACE };
  const accessModes = ['ReadWriteOnce'];
  const volumeName = volumeNameOf(index);
  const volumeHandle = handleOf(index);
  const claim = await kube.create(
    persistentVolumeClaims,
    {
      metadata: {
        ...at,
        labels: { app: 'bench' },
        annotations: {
          'pv.kubernetes.io/bind-completed': 'yes',
          'pv.kubernetes.io/bound-by-controller': 'yes',
          'volume.kubernetes.io/storage-provisioner': driver,
        },
        finalizers: ['kubernetes.io/pvc-protection'],
      },
      spec: {
        accessModes,
        storageClassName: CLASS,
        volumeMode: 'Filesystem',
        volumeName,
        resources: { requests: { storage: GIB } },
      },
    },
    brief,
  );
  const { uid } = claim.metadata;
  await kube.create(
    persistentVolumes,
    {
      metadata: {
        name: volumeName,
        annotations: { 'pv.kubernetes.io/provisioned-by': driver },
        finalizers: [
          'kubernetes.io/pv-protection',
          'external-provisioner.volume.kubernetes.io/finalizer',
          `external-attacher/${driver.replaceAll('.', '-')}`,
        ],
      },
      spec: {
        capacity: { storage: GIB },
        accessModes,
        volumeMode: 'Filesystem',
        storageClassName: CLASS,
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...at, uid },
        csi: { driver, volumeHandle, volumeAttributes: { pool: 'p0', 'storage.kubernetes.io/csi': driver } },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: ZONE, operator: 'In', values: [zoneOf(node)] }] },
            ],
          },
        },
      },
    },
    brief,
  );
  await kube.patch(persistentVolumes, { name: volumeName }, { status: { phase: 'Bound' } }, status);
  const bound = { status: { phase: 'Bound', accessModes, capacity: { storage: GIB } } };
  await kube.patch(persistentVolumeClaims, at, bound, status);
  await makeUse(kube, { driver, at, volumeName, volumeHandle, node });
}

/** The pod and the attachment. */
async function makeUse(
  kube: KubeClient,
  use: {
    driver: string;
    at: { name: string; namespace: string };
    volumeName: string;
    volumeHandle: string;
    node: number;
  },
): Promise<void> {
  const { driver, at } = use;
  const node = nodeName(use.node);
  await kube.create(
    pods,
    {
      metadata: { ...at, labels: { app: 'bench' } },
      spec: {
        nodeName: node,
        containers: [
          {
            name: 'main',
            image: 'registry.example/app:1.0',
            resources: { requests: { cpu: '10m', memory: '16Mi' } },
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: at.name } }],
      },
    },
    brief,
  );
  await kube.patch(pods, at, { status: { phase: 'Running' } }, status);
  const name = attachmentName({ volumeHandle: use.volumeHandle, driver, nodeName: node });
  await kube.create(
    volumeAttachments,
    {
      metadata: {
        name,
        annotations: {
          [ANN_ATTACHED_NODE_ID]: node,
          [ANN_ATTACHED_VOLUME]: JSON.stringify({ handle: use.volumeHandle }),
        },
        finalizers: [`external-attacher/${driver.replaceAll('.', '-')}`],
      },
      spec: { attacher: driver, nodeName: node, source: { persistentVolumeName: use.volumeName } },
    },
    brief,
  );
  await kube.patch(volumeAttachments, { name }, { status: { attached: true } }, status);
}
