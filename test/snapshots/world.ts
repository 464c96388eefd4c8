// For the tests of snapshots: a whole API server in memory with the CRDs, the snapshot controller and the snapshotter,
// each under its published role, a scripted driver with one volume, and the claim that is bound to it.

import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { parse } from 'yaml';
import {
  customResourceDefinitions,
  type Event,
  events,
  namespaces,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../src/api/object.ts';
import { FINALIZER_PVC_PROTECTION } from '../../src/api/well-known.ts';
import type { ApiServer } from '../../src/apiserver/api-server.ts';
import { serviceAccountUser } from '../../src/apiserver/auth/users.ts';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import {
  createSnapshotController,
  SNAPSHOT_CONTROLLER_DEFAULTS,
  type SnapshotControllerOptions,
} from '../../src/control-plane/snapshot/snapshot-controller.ts';
import { loopbackTransport } from '../../src/csi/client/loopback-transport.ts';
import type { CsiTransport } from '../../src/csi/client/transport.ts';
import { ScriptedDriver, type ScriptedDriverOptions } from '../../src/csi/testing/scripted-driver.ts';
import { COMPONENT_ACCOUNTS, publishedRbac } from '../../src/manifests/published-rbac.ts';
import { createEventRecorder } from '../../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import type { Informer } from '../../src/runtime/informer/informer.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { type MemoryLog, memoryLog } from '../../src/runtime/log/log.ts';
import { createMetrics, type Metrics } from '../../src/runtime/metrics/metrics.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { askDriver } from '../../src/sidecars/common/identify-driver.ts';
import { createSnapshotter, type SnapshotterOptions } from '../../src/sidecars/snapshotter/snapshotter.ts';

export const DRIVER = 'scripted.csi.test';

export const DEFINITIONS = ['snapshot', 'groupsnapshot'].flatMap((word) =>
  ['s', 'contents', 'classes'].map((ending) => `${word}.storage.k8s.io_volume${word}${ending}`),
);

export interface Ends {
  kube: KubeClient;
  csi: CsiTransport;
}

export interface Running {
  stop(): Promise<void>;
}

export interface StartOptions<T> {
  /** Puts something between it and the outside. */
  through?: (ends: Ends) => Partial<Ends>;
  options?: Partial<T>;
  /** Nobody waits for its end. */
  abandoned?: boolean;
}

export interface World {
  server: ApiServer;
  admin: KubeClient;
  driver: ScriptedDriver;
  log: MemoryLog;
  metrics: Metrics;
  snapshots: Informer<VolumeSnapshot>;
  contents: Informer<VolumeSnapshotContent>;
  groups: Informer<VolumeGroupSnapshot>;
  claims: Informer<PersistentVolumeClaim>;
  events: Informer<Event>;
  startController(how?: StartOptions<SnapshotControllerOptions>): Running;
  startSnapshotter(how?: StartOptions<SnapshotterOptions>): Promise<Running>;
  /** Both. */
  start(): Promise<void>;
  make<T extends KubeObject>(resource: Resource<T>, draft: object): Promise<T>;
  makeClass(change?: object, metadata?: object): Promise<VolumeSnapshotClass>;
  makeSnapshot(name: string, change?: object): Promise<VolumeSnapshot>;
  /** A claim that is bound to a volume which the driver has. */
  makeBoundClaim(name: string, change?: { volume?: object; driver?: string }): Promise<void>;
  snapshot(name: string, holds: (snapshot: VolumeSnapshot) => boolean): Promise<VolumeSnapshot>;
  ready(name: string): Promise<{ snapshot: VolumeSnapshot; content: VolumeSnapshotContent }>;
  snapshotGone(name: string): Promise<void>;
  content(
    name: string,
    holds: (content: VolumeSnapshotContent | undefined) => boolean,
  ): Promise<VolumeSnapshotContent | undefined>;
  /** The first event with this reason whose message contains the text. */
  event(reason: string, text?: string): Promise<Event>;
}

export const within = () => AbortSignal.timeout(20_000);

/** Retries in milliseconds; no background work unless a test asks for it. */
const fastController: SnapshotControllerOptions = {
  ...SNAPSHOT_CONTROLLER_DEFAULTS,
  retryStartMs: 5,
  retryMaxMs: 50,
  resyncMs: 0,
};
const fastSnapshotter: SnapshotterOptions = {
  timeoutMs: 5_000,
  workers: 10,
  retryStartMs: 5,
  retryMaxMs: 50,
  resyncMs: 0,
  naming: { prefix: 'snapshot', uuidLength: -1 },
  groups: { prefix: 'groupsnapshot', uuidLength: -1 },
  extraCreateMetadata: false,
};

export async function snapshotWorld(
  t: TestContext,
  given: { driver?: ScriptedDriverOptions } = {},
): Promise<World> {
  const clock = realClock;
  const server = await testServer(t, { clock });
  const admin = server.client(server.adminUser);
  for (const object of await publishedRbac({ components: ['snapshotter', 'snapshot-controller'] })) {
    await admin.create(resourceOf(object), object);
  }
  await installDefinitions(admin);
  const driver = new ScriptedDriver({
    name: DRIVER,
    controller: ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'],
    ...given.driver,
  });
  const log = memoryLog();
  const metrics = createMetrics();
  const common = { clock, random: seededRandom('snapshots'), log };
  const watching = new AbortController();
  t.after(() => watching.abort());
  const informers = createInformers({ ...common, kube: admin, log: memoryLog() });
  const snapshots = informers.of(volumeSnapshots);
  const contents = informers.of(volumeSnapshotContents);
  const groups = informers.of(volumeGroupSnapshots);
  const claims = informers.of(persistentVolumeClaims);
  const eventInformer = informers.of(events);

  /** One of the two, from its factory. */
  function run(
    component: 'snapshotter' | 'snapshot-controller',
    how: StartOptions<unknown>,
    create: (
      ports: typeof common &
        Ends & { informers: ReturnType<typeof createInformers>; metrics: Metrics } & {
          recorder: ReturnType<typeof createEventRecorder>;
        },
    ) => { run(signal: AbortSignal): Promise<void> },
  ): Running {
    const stop = new AbortController();
    const kube = server.client(serviceAccountUser('kube-system', COMPONENT_ACCOUNTS[component]));
    const csi = loopbackTransport(driver.services, { clock, log, interceptors: [driver.interceptor] });
    const ends = { kube, csi, ...how.through?.({ kube, csi }) };
    const own = createInformers({ ...common, kube: ends.kube });
    const recorder = createEventRecorder({ ...common, kube: ends.kube, component, signal: stop.signal });
    const made = create({ ...common, ...ends, informers: own, recorder, metrics });
    own.start(stop.signal);
    const running = made.run(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    const end = async (): Promise<void> => {
      stop.abort(new Error('the test stops it'));
      if (!how.abandoned) await running;
    };
    t.after(end);
    return { stop: end };
  }

  const world: World = {
    server,
    admin,
    driver,
    log,
    metrics,
    snapshots,
    contents,
    groups,
    claims,
    events: eventInformer,
    startController: (how = {}) =>
      run('snapshot-controller', how, (ports) =>
        createSnapshotController(ports, { ...fastController, ...how.options }),
      ),
    async startSnapshotter(how = {}) {
      const transport = loopbackTransport(driver.services, { clock, log });
      const identified = await askDriver(transport, { timeoutMs: 1_000, signal: watching.signal });
      return run('snapshotter', how, (ports) =>
        createSnapshotter({ ...ports, driver: identified }, { ...fastSnapshotter, ...how.options }),
      );
    },
    async start() {
      world.startController();
      await world.startSnapshotter();
    },
    make: (resource, draft) => admin.create(resource, draft as never),
    makeClass: (change = {}, metadata = {}) =>
      admin.create(volumeSnapshotClasses, {
        metadata: { name: 'fast', ...metadata },
        driver: DRIVER,
        deletionPolicy: 'Delete',
        ...change,
      }),
    makeSnapshot: (name, change = {}) =>
      admin.create(volumeSnapshots, {
        metadata: { name, namespace: 'default' },
        spec: {
          source: { persistentVolumeClaimName: 'data' },
          volumeSnapshotClassName: 'fast',
          ...change,
        },
      }),
    async makeBoundClaim(name, change = {}) {
      const handle = `vol-${name}`;
      driver.volumes.set(handle, {
        id: handle,
        name: handle,
        capacityBytes: 1n << 30n,
        parameters: {},
        topology: [],
        publishedOn: new Map(),
      });
      const made = await admin.create(persistentVolumeClaims, {
        metadata: { name, namespace: 'default' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'manual',
          volumeName: `pv-${name}`,
          resources: { requests: { storage: '1Gi' } },
        },
      });
      await admin.create(persistentVolumes, {
        metadata: { name: `pv-${name}` },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'manual',
          persistentVolumeReclaimPolicy: 'Retain',
          csi: { driver: change.driver ?? DRIVER, volumeHandle: handle },
          claimRef: { name, namespace: 'default', uid: made.metadata.uid },
          ...change.volume,
        },
      });
      // Nobody here lets claims go that pods use: there are none.
      const finalizers = made.metadata.finalizers?.filter((each) => each !== FINALIZER_PVC_PROTECTION) ?? [];
      const named = { name, namespace: 'default' };
      await admin.patch(persistentVolumeClaims, named, { metadata: { finalizers } }, { type: 'merge' });
      const status = { type: 'merge', subresource: 'status' } as const;
      await admin.patch(persistentVolumeClaims, named, { status: { phase: 'Bound' } }, status);
    },
    async snapshot(name, holds) {
      const found = await snapshots.waitFor(
        `default/${name}`,
        (each) => each !== undefined && holds(each),
        within(),
      );
      return found as VolumeSnapshot;
    },
    async ready(name) {
      const snapshot = await world.snapshot(name, ({ status }) => status?.readyToUse === true);
      const bound = snapshot.status?.boundVolumeSnapshotContentName ?? '';
      return { snapshot, content: await admin.get(volumeSnapshotContents, { name: bound }) };
    },
    async snapshotGone(name) {
      await snapshots.waitFor(`default/${name}`, (each) => each === undefined, within());
    },
    content: (name, holds) => contents.waitFor(name, holds, within()),
    event: (reason, text = '') =>
      new Promise((resolve, reject) => {
        const signal = within();
        const look = (event: Event): void => {
          if (event.reason === reason && event.message?.includes(text)) resolve(event);
        };
        eventInformer.subscribe({ added: look, updated: (_before, after) => look(after) });
        signal.addEventListener('abort', () => {
          const seen = eventInformer.list().map((event) => `${event.reason}: ${event.message}`);
          reject(new Error(`no event ${reason} "${text}", only:\n${seen.join('\n')}`));
        });
      }),
  };
  informers.start(watching.signal);
  await informers.synced(within());
  return world;
}

export async function installDefinitions(admin: KubeClient): Promise<void> {
  for (const file of DEFINITIONS) {
    const url = new URL(`../../deploy/crds/${file}.yaml`, import.meta.url);
    await admin.create(customResourceDefinitions, parse(await readFile(url, 'utf8')));
  }
}

export async function makeSecret(
  admin: KubeClient,
  [namespace, name]: [string, string],
  data: Record<string, string>,
): Promise<void> {
  if (namespace !== 'default') await admin.create(namespaces, { metadata: { name: namespace } });
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  await admin.create(secrets, { metadata: { name, namespace }, data: Object.fromEntries(encoded) });
}

export function resourceOf(object: Draft<KubeObject>): Resource {
  const [group = '', version = 'v1'] = (object.apiVersion ?? '').includes('/')
    ? (object.apiVersion ?? '').split('/')
    : ['', object.apiVersion];
  const { kind = '' } = object;
  const namespaced = object.metadata.namespace !== undefined;
  return { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced };
}
