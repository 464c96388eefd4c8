// For the tests of the provisioner: a whole API server in memory, the real binder, the provisioner under its published
// role, a scripted driver, and somebody who takes the protection finalizers off what is deleted and not in use.

import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { parse } from 'yaml';
import {
  csiNodes,
  customResourceDefinitions,
  type Event,
  events,
  leases,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type StorageClass,
  secrets,
  storageClasses,
} from '../../src/api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../src/api/object.ts';
import { FINALIZER_PV_PROTECTION, FINALIZER_PVC_PROTECTION } from '../../src/api/well-known.ts';
import type { ApiServer } from '../../src/apiserver/api-server.ts';
import { serviceAccountUser } from '../../src/apiserver/auth/users.ts';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { createBinder } from '../../src/control-plane/binder/binder.ts';
import { loopbackTransport } from '../../src/csi/client/loopback-transport.ts';
import type { CsiTransport } from '../../src/csi/client/transport.ts';
import { parseDriverName } from '../../src/csi/names/driver-name.ts';
import { ScriptedDriver, type ScriptedDriverOptions } from '../../src/csi/testing/scripted-driver.ts';
import { publishedRbac } from '../../src/manifests/published-rbac.ts';
import { createEventRecorder } from '../../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import type { Informer, Informers } from '../../src/runtime/informer/informer.ts';
import { removeFinalizer } from '../../src/runtime/kube/finalizers.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { type MemoryLog, memoryLog } from '../../src/runtime/log/log.ts';
import { createMetrics, type Metrics } from '../../src/runtime/metrics/metrics.ts';
import type { Clock } from '../../src/runtime/ports.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { askDriver } from '../../src/sidecars/common/identify-driver.ts';
import type { Intent } from '../../src/sidecars/provisioner/intents/intent.ts';
import { ledgerName, pageOf } from '../../src/sidecars/provisioner/intents/intent-ledger.ts';
import { createProvisioner } from '../../src/sidecars/provisioner/provisioner.ts';
import {
  DEFAULT_PROVISIONER_FLAGS,
  type ProvisionerFlags,
} from '../../src/sidecars/provisioner/provisioner-flags.ts';

export const DRIVER = parseDriverName('scripted.csi.test');
export const TOPOLOGY = { plugin: ['CONTROLLER_SERVICE', 'VOLUME_ACCESSIBILITY_CONSTRAINTS'] } as const;

export interface WorldOptions {
  driver?: ScriptedDriverOptions;
  provisioner?: Partial<ProvisionerFlags>;
  clock?: Clock;
  /** Nobody binds. */
  withoutBinder?: boolean;
}

export interface Ends {
  kube: KubeClient;
  csi: CsiTransport;
}

export interface World {
  server: ApiServer;
  admin: KubeClient;
  driver: ScriptedDriver;
  log: MemoryLog;
  metrics: Metrics;
  informers: Informers;
  claims: Informer<PersistentVolumeClaim>;
  volumes: Informer<PersistentVolume>;
  events: Informer<Event>;
  /** Another provisioner beside those that run. `through` may put something in between. */
  start(
    through?: (ends: Ends) => Partial<Ends>,
    flags?: Partial<ProvisionerFlags>,
    env?: Record<string, string>,
  ): Promise<{ stop(): Promise<void>; kill(): void }>;
  make<T extends KubeObject>(resource: Resource<T>, draft: object): Promise<T>;
  makeClass(change?: Partial<Draft<StorageClass>>): Promise<StorageClass>;
  makeClaim(name: string, change?: object, metadata?: object): Promise<PersistentVolumeClaim>;
  makeSecret(namespace: string, name: string, data: Record<string, string>): Promise<void>;
  /** A node with labels that runs the driver with these topology keys. */
  makeNode(name: string, labels: Record<string, string>, keys?: string[]): Promise<void>;
  bound(name: string): Promise<{ claim: PersistentVolumeClaim; volume: PersistentVolume }>;
  remove(name: string): Promise<void>;
  claimGone(name: string): Promise<void>;
  volumeGone(name: string): Promise<void>;
  /** In the ledger. */
  intents(): readonly Intent[];
  noIntents(): Promise<void>;
  /** The first event with this reason whose message contains the text. */
  event(reason: string, text?: string): Promise<Event>;
}

const within = () => AbortSignal.timeout(20_000);

/** Retries in milliseconds; sweeps only where a test asks for them. */
const fast: ProvisionerFlags = {
  ...DEFAULT_PROVISIONER_FLAGS,
  timeoutMs: 5_000,
  workerThreads: 10,
  retryIntervalStartMs: 5,
  retryIntervalMaxMs: 200,
  snapshotOrphanSweepIntervalMs: 0,
};

export async function provisionerWorld(t: TestContext, options: WorldOptions = {}): Promise<World> {
  const clock = options.clock ?? realClock;
  const server = await testServer(t, { clock });
  const admin = server.client(server.adminUser);
  for (const object of await publishedRbac({ components: ['provisioner'] })) {
    await admin.create(resourceOf(object), object);
  }
  const kube = server.client(serviceAccountUser('kube-system', 'csi-provisioner'));
  const driver = new ScriptedDriver({ name: DRIVER, ...options.driver });
  const log = memoryLog();
  const metrics = createMetrics();
  const random = seededRandom('provisioner');
  const watching = new AbortController();
  t.after(() => watching.abort());
  const common = { kube: admin, clock, random, log: memoryLog() };
  const informers = createInformers(common);
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const eventInformer = informers.of(events);
  const leaseInformer = informers.of(leases);
  const ledger = `kube-system/${ledgerName(DRIVER)}`;
  const key = (name: string) => (name.includes('/') ? name : `default/${name}`);

  protect(claims, FINALIZER_PVC_PROTECTION);
  protect(volumes, FINALIZER_PV_PROTECTION);
  /** Stands in for the protection controllers: nothing here is ever in use. */
  function protect<T extends KubeObject>(informer: Informer<T>, finalizer: string): void {
    const look = (object: T): void => {
      if (!object.metadata.deletionTimestamp || !object.metadata.finalizers?.includes(finalizer)) return;
      removeFinalizer({ kube: admin, resource: informer.resource, object, finalizer }).catch(() => {});
    };
    informer.subscribe({ added: look, updated: (_before, after) => look(after) });
  }

  const recorder = createEventRecorder({ ...common, component: 'binder', signal: watching.signal });
  const binder = options.withoutBinder ? undefined : createBinder({ ...common, informers, recorder });
  informers.start(watching.signal);
  await informers.synced(within());
  const binding = binder?.run(watching.signal).catch(() => {});
  t.after(async () => {
    watching.abort();
    await binding;
  });

  const world: World = {
    server,
    admin,
    driver,
    log,
    metrics,
    informers,
    claims,
    volumes,
    events: eventInformer,
    async start(through = () => ({}), change = {}, env = {}) {
      const stop = new AbortController();
      const loopback = loopbackTransport(driver.services, { clock, log, interceptors: [driver.interceptor] });
      const ends = { kube, csi: loopback, ...through({ kube, csi: loopback }) };
      const own = createInformers({ kube: ends.kube, clock, random, log });
      const ownRecorder = createEventRecorder({
        kube: ends.kube,
        clock,
        random,
        log,
        component: 'provisioner',
        signal: stop.signal,
      });
      const provisioner = createProvisioner(
        {
          ...ends,
          env: { NAMESPACE: 'kube-system', ...env },
          namespace: 'kube-system',
          kubeWith: () => ends.kube,
          informers: own,
          recorder: ownRecorder,
          driver: await askDriver(loopback, { timeoutMs: 1000, signal: stop.signal }),
          clock,
          random,
          log,
          metrics,
        },
        { ...fast, ...options.provisioner, ...change },
      );
      own.start(stop.signal);
      const running = provisioner.run(stop.signal).catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
      let killed = false;
      const end = async () => {
        stop.abort(new Error('the test stops the provisioner'));
        // What was killed hangs in the middle of a call for ever.
        if (!killed) await running;
      };
      t.after(end);
      return {
        stop: end,
        kill() {
          killed = true;
          void end();
        },
      };
    },
    make: (resource, draft) => admin.create(resource, draft as never),
    makeClass: (change = {}) =>
      admin.create(storageClasses, {
        metadata: { name: 'fast' },
        provisioner: DRIVER,
        ...change,
      } as Draft<StorageClass>),
    makeClaim: (name, change = {}, metadata = {}) =>
      admin.create(persistentVolumeClaims, {
        metadata: { name, namespace: 'default', ...metadata },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'fast',
          resources: { requests: { storage: '1Gi' } },
          ...change,
        },
      }),
    async makeSecret(namespace, name, data) {
      const encoded = Object.fromEntries(
        Object.entries(data).map(([field, text]) => [field, Buffer.from(text).toString('base64')]),
      );
      await admin.create(secrets, { metadata: { name, namespace }, data: encoded });
    },
    async makeNode(name, labels, keys = Object.keys(labels)) {
      await admin.create(nodes, { metadata: { name, labels }, spec: {} });
      const drivers = [{ name: DRIVER, nodeID: name, topologyKeys: keys }];
      await admin.create(csiNodes, { metadata: { name }, spec: { drivers } });
    },
    async bound(name) {
      const claim = await claims.waitFor(key(name), (each) => each?.status?.phase === 'Bound', within());
      const volume = await volumes.waitFor(
        claim?.spec.volumeName ?? '',
        (each) => each?.status?.phase === 'Bound',
        within(),
      );
      return { claim: claim as PersistentVolumeClaim, volume: volume as PersistentVolume };
    },
    async remove(name) {
      await admin.delete(persistentVolumeClaims, { name, namespace: 'default' });
    },
    async claimGone(name) {
      await claims.waitFor(key(name), (each) => each === undefined, within());
    },
    async volumeGone(name) {
      await volumes.waitFor(name, (each) => each === undefined, within());
    },
    intents: () => pageOf(leaseInformer.get(ledger)).entries,
    async noIntents() {
      await leaseInformer.waitFor(ledger, (lease) => pageOf(lease).entries.length === 0, within());
    },
    event: (reason, text = '') => eventWith(eventInformer, reason, text),
  };
  return world;
}

function eventWith(informer: Informer<Event>, reason: string, text: string): Promise<Event> {
  return new Promise((resolve, reject) => {
    const giveUp = setTimeout(() => {
      const seen = informer.list().map((event) => `${event.reason}: ${event.message}`);
      reject(new Error(`no event ${reason} with "${text}", but:\n${seen.join('\n')}`));
    }, 20_000);
    const look = (event: Event): void => {
      if (event.reason !== reason || !event.message?.includes(text)) return;
      clearTimeout(giveUp);
      queueMicrotask(() => unsubscribe());
      resolve(event);
    };
    const unsubscribe = informer.subscribe({ added: look, updated: (_before, after) => look(after) });
  });
}

const RESOURCES: Readonly<Record<string, Pick<Resource, 'plural' | 'namespaced'>>> = {
  ServiceAccount: { plural: 'serviceaccounts', namespaced: true },
  ClusterRole: { plural: 'clusterroles', namespaced: false },
  ClusterRoleBinding: { plural: 'clusterrolebindings', namespaced: false },
  Role: { plural: 'roles', namespaced: true },
  RoleBinding: { plural: 'rolebindings', namespaced: true },
};

function resourceOf({ apiVersion = 'v1', kind = '' }: { apiVersion?: string; kind?: string }): Resource {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const { plural = '', namespaced = false } = RESOURCES[kind] ?? {};
  return { group, version, kind, plural, namespaced };
}

/** StorageClass parameters that name a Secret. */
export function secretParameters(kind: string, name: string, namespace: string): Record<string, string> {
  return {
    [`csi.storage.k8s.io/${kind}-secret-name`]: name,
    [`csi.storage.k8s.io/${kind}-secret-namespace`]: namespace,
  };
}

/** A token in a template of a class, such as that for the claim's name. */
export const token = (name: string): string => `\${${name}}`;

/** Installs a CRD of deploy/crds. */
export async function installDefinition(world: World, name: string): Promise<void> {
  const file = new URL(`../../deploy/crds/${name}.yaml`, import.meta.url);
  await world.admin.create(customResourceDefinitions, parse(await readFile(file, 'utf8')));
}
