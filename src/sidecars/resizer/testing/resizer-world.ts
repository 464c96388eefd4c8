// For the tests of the resizer: a whole API server in memory, the resizer under its published role, a scripted driver,
// and a recorder of object changes.

import type { TestContext } from 'node:test';
import {
  clusterRoleBindings,
  clusterRoles,
  type Event,
  events,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  roleBindings,
  roles,
  serviceAccounts,
  storageClasses,
  volumeAttributesClasses,
} from '../../../api/kinds.ts';
import type { KubeObject, Resource } from '../../../api/object.ts';
import { serviceAccountUser } from '../../../apiserver/auth/users.ts';
import { testServer } from '../../../apiserver/testing/test-server.ts';
import { loopbackTransport } from '../../../csi/client/loopback-transport.ts';
import type { CsiTransport } from '../../../csi/client/transport.ts';
import { ScriptedDriver, type ScriptedDriverOptions } from '../../../csi/testing/scripted-driver.ts';
import { publishedRbac } from '../../../manifests/published-rbac.ts';
import { createEventRecorder } from '../../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../../runtime/informer/create-informers.ts';
import type { Informer } from '../../../runtime/informer/informer.ts';
import { lagging } from '../../../runtime/informer/testing/lagging.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import { type MemoryLog, memoryLog } from '../../../runtime/log/log.ts';
import { createMetrics, type Metrics } from '../../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import { askDriver } from '../../common/identify-driver.ts';
import { createResizer } from '../resizer.ts';
import { DEFAULT_RESIZER_FLAGS, type ResizerFlags } from '../resizer-flags.ts';

export const DRIVER = 'scripted.csi.test';
const CLASS = 'growing';

export interface ResizerWorldOptions {
  driver?: ScriptedDriverOptions;
  resizer?: Partial<ResizerFlags>;
}

export interface ResizerWorld {
  admin: KubeClient;
  driver: ScriptedDriver;
  log: MemoryLog;
  metrics: Metrics;
  claims: Informer<PersistentVolumeClaim>;
  volumes: Informer<PersistentVolume>;
  events: Informer<Event>;
  /** `through` wraps the resizer's connections. `abandoned`: its end is not awaited. */
  start(
    through?: (ports: { kube: KubeClient; csi: CsiTransport }) => object,
    options?: { abandoned?: boolean },
  ): Promise<{ stop(): Promise<void>; ended: Promise<void> }>;
  /** A bound claim of 1Gi with its volume, which the driver knows. */
  bound(
    name: string,
    more?: { csi?: object; annotations?: Record<string, string> },
  ): Promise<PersistentVolumeClaim>;
  /** Acts as a user. */
  request(name: string, storage: string): Promise<PersistentVolumeClaim>;
  wantClass(name: string, volumeAttributesClassName: string): Promise<PersistentVolumeClaim>;
  /** Acts as a node. */
  writeStatus(name: string, status: object): Promise<PersistentVolumeClaim>;
  claim(name: string, holds: (claim: PersistentVolumeClaim) => boolean): Promise<PersistentVolumeClaim>;
  volume(name: string): Promise<PersistentVolume>;
  /** Resolves once the claim has an Event with this reason and this text in its message. */
  told(name: string, reason: string, message?: RegExp): Promise<Event>;
}

const signal = () => AbortSignal.timeout(20_000);
const named = (name: string) => ({ name, namespace: 'default' });

export const growingClass = (admin: KubeClient) =>
  admin.create(storageClasses, {
    metadata: { name: CLASS },
    provisioner: DRIVER,
    allowVolumeExpansion: true,
  });

/** A bound claim of 1Gi with its volume, which the driver knows. */
export async function boundClaim(
  { admin, driver }: Pick<ResizerWorld, 'admin' | 'driver'>,
  name: string,
  { csi = {}, annotations = {} }: { csi?: object; annotations?: Record<string, string> } = {},
): Promise<PersistentVolumeClaim> {
  driver.volumes.set(`vol-${name}`, {
    id: `vol-${name}`,
    name,
    capacityBytes: 1n << 30n,
    parameters: {},
    topology: [],
    publishedOn: new Map(),
  });
  const claim = await admin.create(persistentVolumeClaims, {
    metadata: named(name),
    spec: {
      storageClassName: CLASS,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      volumeName: `pv-${name}`,
    },
  });
  const claimRef = {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    ...named(name),
    uid: claim.metadata.uid,
  };
  await admin.create(persistentVolumes, {
    metadata: { name: `pv-${name}`, annotations },
    spec: {
      storageClassName: CLASS,
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver: DRIVER, volumeHandle: `vol-${name}`, ...csi },
      claimRef,
    },
  });
  const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
  const options = { type: 'merge', subresource: 'status' } as const;
  return admin.patch(persistentVolumeClaims, named(name), { status }, options);
}

export async function resizerWorld(t: TestContext, options: ResizerWorldOptions = {}): Promise<ResizerWorld> {
  const clock = realClock;
  const server = await testServer(t, { clock });
  const admin = server.client(server.adminUser);
  for (const object of await publishedRbac({ components: ['resizer'], secrets: 'everywhere' })) {
    await admin.create(rbacResources[object.kind ?? ''] as Resource, object as never);
  }
  const kube = server.client(serviceAccountUser('kube-system', 'csi-resizer'));
  const driver = new ScriptedDriver({ name: DRIVER, controller: ['EXPAND_VOLUME'], ...options.driver });
  const log = memoryLog();
  const metrics = createMetrics();
  const random = seededRandom('resizer');
  const watching = new AbortController();
  t.after(() => watching.abort());
  const informers = createInformers({ kube: admin, clock, random, log: memoryLog() });
  const claims = informers.of(persistentVolumeClaims);
  const seenEvents = informers.of(events);
  await growingClass(admin);
  const merge = { type: 'merge' } as const;
  const writeStatus: ResizerWorld['writeStatus'] = (name, status) =>
    admin.patch(persistentVolumeClaims, named(name), { status }, { ...merge, subresource: 'status' });
  const world: ResizerWorld = {
    admin,
    driver,
    log,
    metrics,
    claims,
    volumes: informers.of(persistentVolumes),
    events: seenEvents,
    async start(through = () => ({}), { abandoned = false } = {}) {
      const stop = new AbortController();
      const loopback = loopbackTransport(driver.services, { clock, log, interceptors: [driver.interceptor] });
      const ends = { kube, csi: loopback, ...through({ kube, csi: loopback }) };
      const own = createInformers({ kube: ends.kube, clock, random, log });
      const recorder = createEventRecorder({ kube: ends.kube, clock, random, log, component: 'resizer' });
      const identified = await askDriver(loopback, { timeoutMs: 1000, signal: stop.signal });
      const resizer = createResizer(
        { ...ends, recorder, informers: own, driver: identified, clock, random, log, metrics },
        { ...fast, ...options.resizer },
      );
      own.start(stop.signal);
      const ended = resizer.run(stop.signal);
      const running = ended.catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
      running.catch(() => {});
      const end = async () => {
        stop.abort(new Error('the test stops the resizer'));
        if (abandoned) return;
        await running.catch(() => {});
        await recorder.flush();
      };
      t.after(end);
      return { stop: end, ended };
    },
    bound: (name, more) => boundClaim({ admin, driver }, name, more),
    request: (name, storage) =>
      admin.patch(
        persistentVolumeClaims,
        named(name),
        { spec: { resources: { requests: { storage } } } },
        merge,
      ),
    wantClass: (name, volumeAttributesClassName) =>
      admin.patch(persistentVolumeClaims, named(name), { spec: { volumeAttributesClassName } }, merge),
    writeStatus,
    async claim(name, holds) {
      const found = await claims.waitFor(
        `default/${name}`,
        (each) => each !== undefined && holds(each),
        signal(),
      );
      return found as PersistentVolumeClaim;
    },
    volume: (name) => admin.get(persistentVolumes, { name: `pv-${name}` }),
    told(name, reason, message = /./) {
      const isIt = (event: Event) =>
        event.involvedObject.name === name && event.reason === reason && message.test(event.message ?? '');
      return new Promise((resolve, reject) => {
        const look = (event: Event) => {
          if (isIt(event)) resolve(event);
        };
        seenEvents.subscribe({ added: look, updated: (_before, after) => look(after) });
        signal().addEventListener('abort', () => reject(new Error(`nobody said ${reason} of ${name}`)));
      });
    },
  };
  informers.start(watching.signal);
  await informers.synced(signal());
  return world;
}

const rbacResources: Record<string, Resource<KubeObject>> = {
  ServiceAccount: serviceAccounts,
  ClusterRole: clusterRoles,
  ClusterRoleBinding: clusterRoleBindings,
  Role: roles,
  RoleBinding: roleBindings,
};

/** Retries in milliseconds, no background work unless a test asks for it. */
const fast: ResizerFlags = {
  ...DEFAULT_RESIZER_FLAGS,
  retryIntervalStartMs: 5,
  retryIntervalMaxMs: 20,
  resyncPeriodMs: 0,
  featureGates: { ...DEFAULT_RESIZER_FLAGS.featureGates, AnnotateFsResize: true },
};

export { signal as soon };

export const conditionsOf = ({ status }: PersistentVolumeClaim): string[] =>
  (status?.conditions ?? []).map(({ type }) => type).toSorted();

/** Whether the claim has this size and no trace of an expansion. */
export const isResizedTo =
  (storage: string) =>
  (claim: PersistentVolumeClaim): boolean =>
    claim.status?.capacity?.storage === storage &&
    claim.status.allocatedResourceStatuses?.storage === undefined &&
    conditionsOf(claim).length === 0;

export const attributesClass = (
  { admin }: ResizerWorld,
  name: string,
  parameters: Record<string, string>,
  driverName = DRIVER,
) => admin.create(volumeAttributesClasses, { metadata: { name }, driverName, parameters });

/**
 * The resizer's report after the first call is stored, but the response is lost, and the watch of claims does not show
 * it until the driver is called again. Collects the claim's state at each call.
 */
export function forgottenReport(t: TestContext, { admin }: Pick<ResizerWorld, 'admin'>, method: string) {
  const lag = lagging(persistentVolumeClaims);
  t.after(() => lag.release());
  const statesAtCalls: PersistentVolumeClaim['status'][] = [];
  /** The resizer has read the claim, or called the driver, once more. */
  const goesOn = Promise.withResolvers<void>();
  const isClaim = ({ plural }: Resource) => plural === persistentVolumeClaims.plural;
  const faults = ({ kube, csi }: { kube: KubeClient; csi: CsiTransport }) => ({
    kube: {
      ...lag.faults(kube),
      async get(...call: Parameters<KubeClient['get']>) {
        const found = await kube.get(...call);
        if (isClaim(call[0]) && lag.isHeld) goesOn.resolve();
        return found;
      },
      async patch(...call: Parameters<KubeClient['patch']>) {
        if (statesAtCalls.length !== 1 || !isClaim(call[0]) || lag.isHeld) return kube.patch(...call);
        lag.hold();
        await kube.patch(...call);
        throw new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
      },
    },
    csi: {
      ...csi,
      async call(...call: Parameters<CsiTransport['call']>) {
        if (call[0].name === method) {
          const { status } = await admin.get(persistentVolumeClaims, named('data'));
          if (statesAtCalls.push(status) > 1) {
            lag.release();
            goesOn.resolve();
          }
        }
        return csi.call(...call);
      },
    } as CsiTransport,
  });
  return { faults, statesAtCalls, goesOn: goesOn.promise };
}
