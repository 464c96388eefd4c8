// What a user does in a cluster that runs Berth's image: a container writes to a volume, a snapshot is taken and restored for another
// container, everything is deleted, and nothing is left.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../e2e/up-process.ts';
import { BUSYBOX } from '../real/real-up.ts';

const IMAGE = fileURLToPath(new URL('../../scripts/image.ts', import.meta.url));
export const DRIVER = 'local.csi.test';

/** Berth's image, as an archive, and its name. */
export async function buildImage(directory: string): Promise<{ archive: string; name: string }> {
  const image = join(directory, 'image');
  const built = await run(process.execPath, [IMAGE, '--output', image], { timeoutMs: 150_000 });
  assert.equal(built.code, 0, built.stderr);
  return { archive: `${image}.tar`, name: /^(berth:\S+) for/m.exec(built.stderr)?.[1] ?? '' };
}

export interface DriverPlaces {
  kubeletDir: string;
  state: string;
  /** Driver, registrar and sidecars in one pod, unless given. */
  controller?: readonly string[];
  /** Further arguments of the driver. */
  driver?: readonly string[];
}

/** The flags of `berth manifests`. */
export const driverFlags = (
  image: string,
  { kubeletDir, state, controller = ['--controller=daemonset'], driver = [] }: DriverPlaces,
): string[] => [
  `--driver-name=${DRIVER}`,
  `--image=${image}-hostpath`,
  `--berth-image=${image}`,
  ...[...controller, `--kubelet-dir=${kubeletDir}`, `--host-path=${state}`],
  ...[
    'driver',
    'hostpath',
    `--driver-name=${DRIVER}`,
    '--endpoint=$(CSI_ENDPOINT)',
    '--node-id=$(NODE_ID)',
    `--state-dir=${state}`,
    ...driver,
  ].map((argument) => `--arg=driver=${argument}`),
];

export interface UsedCluster {
  kubectl(...args: readonly string[]): Promise<string>;
  apply(manifests: string): Promise<string>;
}

export interface Life {
  /** What runs the driver, by namespace; the all-in-one DaemonSet, unless given. */
  workloads?: readonly (readonly [namespace: string, workload: string])[];
  /** Happens after a container has written, and before the snapshot. */
  whileInUse?: () => Promise<void>;
}

export async function liveInCluster(
  { kubectl, apply }: UsedCluster,
  state: string,
  { workloads = [['kube-system', 'daemonset/local-csi-test-node']], whileInUse }: Life = {},
): Promise<void> {
  await apply(CLASSES);
  for (const [namespace, workload] of [
    ...workloads,
    ['kube-system', 'deployment/snapshot-controller'] as const,
  ]) {
    await kubectl('rollout', 'status', '-n', namespace, workload, '--timeout=120s');
  }

  await apply(podWith({ name: 'writer', claim: 'data', command: 'echo kept > /data/file; sleep 1000' }));
  await kubectl('wait', 'pod/writer', '--for=condition=Ready', '--timeout=120s');
  await whileInUse?.();
  await apply(snapshotOf('data', 'taken'));
  await kubectl('wait', 'volumesnapshot/taken', '--for=jsonpath={.status.readyToUse}=true', '--timeout=60s');
  await apply(
    podWith({
      name: 'reader',
      claim: 'restored',
      restored: 'taken',
      command: 'cat /data/file; sleep 1000',
    }),
  );
  await kubectl('wait', 'pod/reader', '--for=condition=Ready', '--timeout=120s');
  assert.equal(await kubectl('logs', 'reader'), 'kept\n');

  await kubectl(
    'delete',
    '--timeout=120s',
    'pod/writer',
    'pod/reader',
    'pvc/data',
    'pvc/restored',
    'volumesnapshot/taken',
  );
  await kubectl('wait', 'pv,volumesnapshotcontent', '--all', '--for=delete', '--timeout=120s');
  assert.equal(await kubectl('get', 'volumeattachments', '-o', 'name'), '');
  assert.deepEqual(stored(state), { volumes: [], snapshots: [] });
}

/** What the storage has. */
export const stored = (state: string): { volumes: string[]; snapshots: string[] } => ({
  volumes: readdirSync(join(state, 'volumes')),
  snapshots: readdirSync(join(state, 'snapshots')),
});

export const CLASSES = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: ${DRIVER}
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: local}
driver: ${DRIVER}
deletionPolicy: Delete
`;

export const snapshotOf = (claim: string, name: string): string => `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: ${name}}
spec: {volumeSnapshotClassName: local, source: {persistentVolumeClaimName: ${claim}}}
`;

export interface PodWithClaim {
  name: string;
  claim: string;
  command: string;
  /** Name of the snapshot that the claim is restored from. */
  restored?: string;
  node?: string;
}

/** A pod and its claim, which may be there already. */
export function podWith({ name, claim, command, restored, node }: PodWithClaim): string {
  const dataSource = restored && {
    kind: 'VolumeSnapshot',
    name: restored,
    apiGroup: 'snapshot.storage.k8s.io',
  };
  const spec = {
    storageClassName: 'local',
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '16Mi' } },
    ...(dataSource && { dataSource }),
  };
  const mounted = { name: 'data', mountPath: '/data' };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: claim }, spec },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: {
          terminationGracePeriodSeconds: 0,
          ...(node && { nodeSelector: { 'kubernetes.io/hostname': node } }),
          containers: [
            { name: 'main', image: BUSYBOX, command: ['sh', '-c', command], volumeMounts: [mounted] },
          ],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
        },
      },
    ],
  });
}
