// For the tests of the attacher: a whole API server in memory, the attacher under its published role, a scripted
// driver, and a recorder of object changes.

import type { TestContext } from 'node:test';
import {
  type Event,
  events,
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '../../../api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../../api/object.ts';
import { serviceAccountUser } from '../../../apiserver/auth/users.ts';
import type { ApiServer } from '../../../apiserver/index.ts';
import { testServer } from '../../../apiserver/testing/test-server.ts';
import { loopbackTransport } from '../../../csi/client/loopback-transport.ts';
import type { CsiTransport } from '../../../csi/client/transport.ts';
import { ScriptedDriver, type ScriptedDriverOptions } from '../../../csi/testing/scripted-driver.ts';
import { publishedRbac } from '../../../manifests/published-rbac.ts';
import { createEventRecorder } from '../../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../../runtime/informer/create-informers.ts';
import type { Informer } from '../../../runtime/informer/informer.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { type MemoryLog, memoryLog } from '../../../runtime/log/log.ts';
import { createMetrics, type Metrics } from '../../../runtime/metrics/metrics.ts';
import type { Clock } from '../../../runtime/ports.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import { askDriver } from '../../common/identify-driver.ts';
import { createAttacher } from '../attacher.ts';
import { type AttacherFlags, DEFAULT_ATTACHER_FLAGS } from '../attacher-flags.ts';

export const DRIVER = 'scripted.csi.test';
export const FINALIZER = 'external-attacher/scripted-csi-test';

export interface AttacherWorldOptions {
  driver?: ScriptedDriverOptions;
  attacher?: Partial<AttacherFlags>;
  /** Which Secrets the attacher may read. */
  secrets?: 'none' | 'everywhere';
  clock?: Clock;
}

export interface RunningAttacher {
  /** Aborts and waits for its end. */
  stop(): Promise<void>;
}

export interface AttacherWorld {
  server: ApiServer;
  admin: KubeClient;
  driver: ScriptedDriver;
  log: MemoryLog;
  metrics: Metrics;
  attachments: Informer<VolumeAttachment>;
  volumes: Informer<PersistentVolume>;
  events: Informer<Event>;
  /** `through` wraps the attacher's connections. `abandoned`: its end is not awaited. */
  start(
    through?: (ports: { kube: KubeClient; csi: CsiTransport }) => object,
    options?: { abandoned?: boolean },
  ): Promise<RunningAttacher>;
  /** Creates an object; returns it as stored. */
  make<T extends KubeObject>(resource: Resource<T>, draft: object): Promise<T>;
  attached(name: string): Promise<VolumeAttachment>;
  gone(name: string): Promise<void>;
}

const signal = () => AbortSignal.timeout(20_000);

export async function attacherWorld(
  t: TestContext,
  options: AttacherWorldOptions = {},
): Promise<AttacherWorld> {
  const clock = options.clock ?? realClock;
  const server = await testServer(t, { clock });
  const admin = server.client(server.adminUser);
  const secrets = options.secrets ?? 'everywhere';
  for (const object of await publishedRbac({ components: ['attacher'], secrets })) {
    await admin.create(resourceOf(object), object as Draft<KubeObject>);
  }
  const kube = server.client(serviceAccountUser('kube-system', 'csi-attacher'));
  const driver = new ScriptedDriver({ name: DRIVER, ...options.driver });
  const log = memoryLog();
  const metrics = createMetrics();
  const random = seededRandom('attacher');
  const watching = new AbortController();
  t.after(() => watching.abort());
  const informers = createInformers({ kube: admin, clock, random, log: memoryLog() });
  const attachments = informers.of(volumeAttachments);
  const world: AttacherWorld = {
    server,
    admin,
    driver,
    log,
    metrics,
    attachments,
    volumes: informers.of(persistentVolumes),
    events: informers.of(events),
    async start(through = () => ({}), { abandoned = false } = {}) {
      const stop = new AbortController();
      const loopback = loopbackTransport(driver.services, { clock, log, interceptors: [driver.interceptor] });
      const ends = { kube, csi: loopback, ...through({ kube, csi: loopback }) };
      const own = createInformers({ kube: ends.kube, clock, random, log });
      const recorder = createEventRecorder({ kube: ends.kube, clock, random, log, component: 'attacher' });
      const ports = {
        ...ends,
        recorder,
        informers: own,
        driver: await askDriver(loopback, { timeoutMs: 1000, signal: stop.signal }),
        clock,
        random,
        log,
        metrics,
      };
      const attacher = createAttacher(ports, { ...fast, ...options.attacher });
      own.start(stop.signal);
      const running = attacher.run(stop.signal).catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
      const end = async () => {
        stop.abort(new Error('the test stops the attacher'));
        if (abandoned) return;
        await running;
        await recorder.flush();
      };
      t.after(end);
      return { stop: end };
    },
    make: (resource, draft) => admin.create(resource, draft as never),
    async attached(name) {
      const found = await attachments.waitFor(name, (each) => each?.status?.attached === true, signal());
      return found as VolumeAttachment;
    },
    async gone(name) {
      await attachments.waitFor(name, (each) => each === undefined, signal());
    },
  };
  informers.start(watching.signal);
  await informers.synced(signal());
  return world;
}

/** Retries in milliseconds, no background work unless a test asks for it. */
const fast: AttacherFlags = {
  ...DEFAULT_ATTACHER_FLAGS,
  timeoutMs: 10_000,
  retryIntervalStartMs: 5,
  retryIntervalMaxMs: 20,
  resyncMs: 0,
  reconcileSyncMs: 0,
};

function resourceOf(object: {
  apiVersion?: string;
  kind?: string;
  metadata: { namespace?: string };
}): Resource {
  const [group, version] = (object.apiVersion ?? 'v1').includes('/')
    ? (object.apiVersion ?? '').split('/')
    : ['', object.apiVersion ?? 'v1'];
  const kind = object.kind ?? '';
  return {
    group: group ?? '',
    version: version ?? '',
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced: object.metadata.namespace !== undefined,
  };
}

export { signal as soon };

export const pv = (name: string, csi: object = {}, more: { spec?: object; metadata?: object } = {}) => ({
  metadata: { name, ...more.metadata },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    csi: { driver: DRIVER, volumeHandle: `vol-${name}`, ...csi },
    ...more.spec,
  },
});

export const attachment = (
  name: string,
  source: object,
  more: { nodeName?: string; attacher?: string; metadata?: object } = {},
) => ({
  metadata: { name, ...more.metadata },
  spec: { attacher: more.attacher ?? DRIVER, nodeName: more.nodeName ?? 'node-a', source },
});

export const csiNode = (
  name: string,
  drivers: { name: string; nodeID: string; topologyKeys?: string[] }[],
) => ({
  metadata: { name },
  spec: { drivers: drivers.map((driver) => ({ topologyKeys: null, ...driver })) },
});

export const ourNode = (name = 'node-a', nodeID = `id-${name}`) => csiNode(name, [{ name: DRIVER, nodeID }]);

/** A volume that the driver has. */
export function existing(driver: ScriptedDriver, id: string, publishedOn: string[] = []): void {
  driver.volumes.set(id, {
    id,
    name: id,
    capacityBytes: 1n,
    parameters: {},
    topology: [],
    publishedOn: new Map(publishedOn.map((node) => [node, false])),
  });
}

export const secret = (name: string, namespace: string, data: Record<string, string | Buffer>) => ({
  metadata: { name, namespace },
  data: Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value as never).toString('base64')]),
  ),
});
