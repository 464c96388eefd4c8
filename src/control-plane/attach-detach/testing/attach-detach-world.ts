// Test support: attach-detach under virtual time and its own account, on a real API server in memory, with an attacher
// that follows a script.

import {
  type CSIDriver,
  csiDrivers,
  events,
  type Node,
  nodes,
  type PersistentVolume,
  type PodVolume,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
} from '../../../api/kinds.ts';
import { attachmentName } from '../../../api/volumes.ts';
import { ANN_INLINE_HANDLES } from '../../../api/well-known.ts';
import { serviceAccountUser } from '../../../apiserver/auth/users.ts';
import { scriptedAttacher } from '../../../csi-plugin/attach/testing/scripted-attacher.ts';
import { createEventRecorder } from '../../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../../runtime/informer/create-informers.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { silentLog } from '../../../runtime/log/log.ts';
import { createMetrics } from '../../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { type TestScope, virtualTestApi } from '../../testing/test-api.ts';
import { createAttachDetach } from '../attach-detach.ts';

export const DRIVER = 'driver.example';

export async function attachDetachWorld(
  t: TestScope,
  options: { faults?: (kube: KubeClient) => KubeClient } = {},
) {
  const { api: server, clock } = await virtualTestApi(t);
  const kube = server.client(server.adminUser);
  const { faults = (client: KubeClient) => client } = options;
  const account = faults(server.client(serviceAccountUser('kube-system', 'attachdetach-controller')));
  const ports = { kube, clock, random: seededRandom(1), log: silentLog };
  const mine = new AbortController();
  t.after(() => mine.abort());
  const informers = createInformers(ports);
  const attachments = informers.of(volumeAttachments);
  informers.start(mine.signal);
  await clock.runUntil(informers.synced(), 1000);
  const attacher = scriptedAttacher(kube, attachments);

  async function startController() {
    const stop = new AbortController();
    const metrics = createMetrics();
    const identity = { ...ports, kube: account };
    const own = createInformers(identity);
    const recorder = createEventRecorder({
      ...identity,
      component: 'attachdetach-controller',
      signal: stop.signal,
    });
    const controller = createAttachDetach({ ...identity, informers: own, recorder, metrics });
    own.start(stop.signal);
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
    return { stop: end, metrics };
  }

  const settle = () => clock.advance(1000);
  async function make<T>(work: Promise<T>): Promise<T> {
    const made = await clock.runUntil(work, 60_000);
    return made as T;
  }
  const attachment = (volumeHandle: string, nodeName: string) =>
    attachments.get(attachmentName({ driver: DRIVER, volumeHandle, nodeName }));

  return {
    kube,
    clock,
    attacher,
    attachments,
    startController,
    settle,
    attachment,
    isAttached: (volumeHandle: string, nodeName: string) =>
      attachment(volumeHandle, nodeName)?.status?.attached === true,
    async node(name: string, status: Node['status'] = READY) {
      await make(kube.create(nodes, { metadata: { name } }));
      await make(kube.patch(nodes, { name }, { status }, { type: 'merge', subresource: 'status' }));
    },
    nodeStatus: (name: string, status: object) =>
      make(kube.patch(nodes, { name }, { status }, { type: 'merge', subresource: 'status' })),
    readNode: (name: string) => make(kube.get(nodes, { name })),
    /** A volume with a claim that is bound to it, both under one name. */
    async volume(name: string, change: { modes?: string[]; handle?: string; namespace?: string } = {}) {
      const { modes = ['ReadWriteOnce'], handle = name, namespace = 'default' } = change;
      const claim = await make(
        kube.create(persistentVolumeClaims, {
          metadata: { name, namespace },
          spec: {
            accessModes: modes,
            storageClassName: '',
            volumeName: name,
            resources: { requests: { storage: '1Gi' } },
          },
        }),
      );
      await make(
        kube.create(persistentVolumes, {
          metadata: { name },
          spec: {
            capacity: { storage: '1Gi' },
            accessModes: modes,
            persistentVolumeReclaimPolicy: 'Retain',
            claimRef: { kind: 'PersistentVolumeClaim', name, namespace, uid: claim.metadata.uid },
            csi: { driver: DRIVER, volumeHandle: handle },
          } as PersistentVolume['spec'],
        }),
      );
    },
    async pod(name: string, nodeName: string, volumes: (string | PodVolume)[], namespace = 'default') {
      await make(
        kube.create(pods, {
          metadata: { name, namespace },
          spec: {
            nodeName,
            containers: [{ name: 'c', image: 'i' }],
            volumes: volumes.map((volume) =>
              typeof volume === 'string'
                ? { name: volume, persistentVolumeClaim: { claimName: volume } }
                : volume,
            ),
          },
        }),
      );
    },
    async removePod(name: string, namespace = 'default') {
      await make(kube.delete(pods, { name, namespace }, { gracePeriodSeconds: 0 }));
    },
    driver: (spec: CSIDriver['spec']) => {
      const annotations = { [ANN_INLINE_HANDLES]: 'allowed' };
      return make(kube.create(csiDrivers, { metadata: { name: DRIVER, annotations }, spec }));
    },
    async eventsOn(pod: string, namespace = 'default') {
      const { items } = await make(kube.list(events, { namespace }));
      return items
        .filter(({ involvedObject }) => involvedObject.name === pod)
        .map(({ reason, message }) => `${reason}: ${message}`);
    },
    make,
  };
}

export const READY: Node['status'] = { conditions: [{ type: 'Ready', status: 'True' }] };
