// Test support: the scheduler under virtual time and its own account, on a real API server in memory, with the real
// binder and a provisioner that the test controls.

import {
  type CSIDriver,
  type CSINodeDriver,
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  events,
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodVolume,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type StorageClass,
  storageClasses,
} from '../../../api/kinds.ts';
import type { Draft } from '../../../api/object.ts';
import { selectedNodeOf } from '../../../api/volumes.ts';
import { ANN_SELECTED_NODE } from '../../../api/well-known.ts';
import { serviceAccountUser } from '../../../apiserver/auth/users.ts';
import { createEventRecorder } from '../../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../../runtime/informer/create-informers.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { silentLog } from '../../../runtime/log/log.ts';
import { createMetrics } from '../../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { createBinder } from '../../binder/binder.ts';
import type { Controller, ControllerPorts } from '../../controller.ts';
import { type TestScope, virtualTestApi } from '../../testing/test-api.ts';
import { createScheduler } from '../scheduler.ts';

export const DRIVER = 'driver.example';

export async function schedulerWorld(t: TestScope, { faults = (kube: KubeClient) => kube } = {}) {
  const { api: server, clock } = await virtualTestApi(t);
  const kube = server.client(server.adminUser);
  const common = { clock, random: seededRandom(1), log: silentLog };
  const metrics = createMetrics();

  async function start(identity: KubeClient, create: (ports: ControllerPorts) => Controller) {
    const stop = new AbortController();
    const ports = { ...common, kube: identity };
    const informers = createInformers(ports);
    const recorder = createEventRecorder({ ...ports, component: 'test', signal: stop.signal });
    const controller = create({ ...ports, informers, recorder, metrics });
    informers.start(stop.signal);
    const running = controller.run(stop.signal);
    await clock.advance(100);
    const end = async () => {
      stop.abort();
      await clock.runUntil(
        running.catch(() => {}),
        1000,
      );
    };
    t.after(end);
    return { stop: end };
  }

  const make = async <T>(work: Promise<T>): Promise<T> => (await clock.runUntil(work, 60_000)) as T;
  const schedulerUser = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };

  return {
    kube,
    clock,
    metrics,
    make,
    startScheduler: () => start(faults(server.client(schedulerUser)), createScheduler),
    startBinder: () =>
      start(server.client(serviceAccountUser('kube-system', 'persistent-volume-binder')), createBinder),
    settle: () => clock.advance(5000),
    node: (
      name: string,
      init: { labels?: Record<string, string>; spec?: Node['spec']; status?: Node['status'] } = {},
    ) =>
      make(
        (async () => {
          await kube.create(nodes, {
            metadata: { name, labels: { 'kubernetes.io/hostname': name, ...init.labels } },
            ...(init.spec && { spec: init.spec }),
          });
          if (init.status) {
            const patch = { status: init.status };
            await kube.patch(nodes, { name }, patch, { type: 'merge', subresource: 'status' });
          }
        })(),
      ),
    csiNode: (name: string, driver: Partial<CSINodeDriver> = {}) =>
      make(
        kube.create(csiNodes, {
          metadata: { name },
          spec: { drivers: [{ name: DRIVER, nodeID: name, ...driver }] },
        }),
      ),
    driver: (spec: CSIDriver['spec'] = {}) =>
      make(kube.create(csiDrivers, { metadata: { name: DRIVER }, spec })),
    storageClass: (name: string, change: Partial<StorageClass> = {}) =>
      make(
        kube.create(storageClasses, {
          metadata: { name },
          provisioner: DRIVER,
          volumeBindingMode: 'WaitForFirstConsumer',
          ...change,
        }),
      ),
    capacity: (name: string, labels: Record<string, string>, capacity: string, storageClassName = 'late') =>
      make(
        kube.create(csiStorageCapacities, {
          metadata: { name, namespace: 'default' },
          storageClassName,
          nodeTopology: { matchLabels: labels },
          capacity,
        }),
      ),
    claim: (name: string, change: Partial<PersistentVolumeClaim['spec']> = {}) =>
      make(
        kube.create(persistentVolumeClaims, {
          metadata: { name, namespace: 'default' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            storageClassName: 'late',
            resources: { requests: { storage: '1Gi' } },
            ...change,
          },
        }),
      ),
    volume: (name: string, change: Partial<PersistentVolume['spec']> = {}) =>
      make(kube.create(persistentVolumes, volumeDraft(name, change))),
    /** A volume and a claim that is bound to it, once the binder has run. */
    async boundClaim(name: string, change: Partial<PersistentVolume['spec']> = {}) {
      const accessModes = change.accessModes ?? ['ReadWriteOnce'];
      await make(
        kube.create(
          persistentVolumes,
          volumeDraft(name, { ...change, storageClassName: '', claimRef: { name, namespace: 'default' } }),
        ),
      );
      await make(
        kube.create(persistentVolumeClaims, {
          metadata: { name, namespace: 'default' },
          spec: {
            accessModes,
            storageClassName: '',
            volumeName: name,
            resources: { requests: { storage: '1Gi' } },
          },
        }),
      );
    },
    pod: (name: string, volumes: (string | PodVolume)[] = [], spec: Partial<Pod['spec']> = {}) =>
      make(
        kube.create(pods, {
          metadata: { name, namespace: 'default' },
          spec: {
            containers: [{ name: 'c', image: 'i' }],
            volumes: volumes.map((volume) =>
              typeof volume === 'string'
                ? { name: volume, persistentVolumeClaim: { claimName: volume } }
                : volume,
            ),
            ...spec,
          },
        }),
      ),
    removePod: (name: string) =>
      make(kube.delete(pods, { name, namespace: 'default' }, { gracePeriodSeconds: 0 })),
    readPod: (name: string) => make(kube.get(pods, { name, namespace: 'default' })),
    readClaim: (name: string) => make(kube.get(persistentVolumeClaims, { name, namespace: 'default' })),
    async nodeOf(name: string) {
      const pod = await make(kube.get(pods, { name, namespace: 'default' }));
      return pod.spec.nodeName;
    },
    async eventsOn(name: string) {
      const { items } = await make(kube.list(events, { namespace: 'default' }));
      return items
        .filter(({ involvedObject }) => involvedObject.name === name)
        .map(({ reason, message }) => `${reason}: ${message}`);
    },
    /** Acts as a provisioner: creates a volume for the selected node, which the binder then binds. */
    async provision(claimName: string, change: Partial<PersistentVolume['spec']> = {}) {
      const claim = await make(kube.get(persistentVolumeClaims, { name: claimName, namespace: 'default' }));
      const claimRef = {
        kind: 'PersistentVolumeClaim',
        apiVersion: 'v1',
        name: claimName,
        namespace: 'default',
        uid: claim.metadata.uid,
      };
      await make(
        kube.create(
          persistentVolumes,
          volumeDraft(`pvc-${claimName}`, { storageClassName: 'late', claimRef, ...change }),
        ),
      );
      return selectedNodeOf(claim);
    },
    /** Acts as a provisioner that cannot create the volume on the selected node. */
    giveUp: (claimName: string) =>
      make(
        kube.patch(
          persistentVolumeClaims,
          { name: claimName, namespace: 'default' },
          { metadata: { annotations: { [ANN_SELECTED_NODE]: null } } },
          { type: 'merge' },
        ),
      ),
  };
}

function volumeDraft(name: string, change: Partial<PersistentVolume['spec']>): Draft<PersistentVolume> {
  return {
    metadata: { name },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: 'late',
      csi: { driver: DRIVER, volumeHandle: name },
      ...change,
    },
  };
}

/** Node affinity for nodes with this label. */
export function reachableFrom(
  key: string,
  ...values: string[]
): Pick<PersistentVolume['spec'], 'nodeAffinity'> {
  return {
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }] },
    },
  };
}
