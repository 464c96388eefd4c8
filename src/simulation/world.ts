// A whole cluster under virtual time: the API server in memory, every component from its ordinary factory as a process
// that can die, machines, storage, users. Starts, kills and restarts them. Checks are in checkers/, the course of a run
// is in simulate.ts.

import * as kinds from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { keyOf } from '../api/object.ts';
import { type ApiServer, createApiServer } from '../apiserver/api-server.ts';
import { serviceAccountUser } from '../apiserver/auth/users.ts';
import type { User } from '../apiserver/pipeline.ts';
import { controllers } from '../control-plane/index.ts';
import { createScheduler } from '../control-plane/scheduler/scheduler.ts';
import type { CsiTransport } from '../csi/client/transport.ts';
import { createNodeAgent } from '../node/node-agent.ts';
import { createEventRecorder } from '../runtime/events/create-event-recorder.ts';
import { createInformers } from '../runtime/informer/create-informers.ts';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';
import { LeadershipLostError, runWithLease } from '../runtime/leases/run-with-lease.ts';
import { silentLog } from '../runtime/log/log.ts';
import { unreadMetrics } from '../runtime/metrics/unread-metrics.ts';
import type { Log } from '../runtime/ports.ts';
import type { SeededRandom } from '../runtime/random.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { createAttacher } from '../sidecars/attacher/attacher.ts';
import { DEFAULT_ATTACHER_FLAGS } from '../sidecars/attacher/attacher-flags.ts';
import { identifyDriver } from '../sidecars/common/identify-driver.ts';
import type { SidecarPorts } from '../sidecars/common/sidecar.ts';
import { createProvisioner } from '../sidecars/provisioner/provisioner.ts';
import { DEFAULT_PROVISIONER_FLAGS } from '../sidecars/provisioner/provisioner-flags.ts';
import { createResizer } from '../sidecars/resizer/resizer.ts';
import { DEFAULT_RESIZER_FLAGS } from '../sidecars/resizer/resizer-flags.ts';
import { type Fault, Faults } from './faults.ts';
import { faultyKube } from './faulty-kube.ts';
import { faultyLink } from './faulty-link.ts';
import { History } from './history.ts';
import { type Mutation, noMutation } from './mutations.ts';
import { type Plan, processNames } from './plan.ts';
import { KUBELET_ROOT, SimNode } from './sim-node.ts';
import { SimProcess } from './sim-process.ts';
import type { StartImage } from './start-image.ts';
import { StorageBackend } from './storage-backend.ts';
import { Users } from './users.ts';
import { watchedLog } from './watched-log.ts';

export interface WorldOptions {
  plan: Plan;
  random: SeededRandom;
  start: StartImage;
  enabled: ReadonlySet<Fault>;
  skipped?: ReadonlySet<string>;
  mutation?: Mutation;
  log?: Log;
}

/** Kinds whose changes the history records. */
const FOLLOWED: readonly Resource<KubeObject>[] = [
  kinds.persistentVolumeClaims,
  kinds.persistentVolumes,
  kinds.pods,
  kinds.volumeAttachments,
  kinds.nodes,
  kinds.csiNodes,
  kinds.events,
  kinds.leases,
  kinds.storageClasses,
  kinds.secrets,
  kinds.statefulSets,
] as readonly Resource[] as readonly Resource<KubeObject>[];

/** Kinds that nothing creates here. The garbage collector would only watch them in vain. */
const RBAC = 'rbac.authorization.k8s.io';
const UNUSED = new Set(['configmaps', 'daemonsets', 'deployments', 'podsecuritypolicies', 'serviceaccounts']);

const SCHEDULER: User = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };

const NODE_HOST = {
  os: 'linux',
  arch: 'amd64',
  kernelVersion: '6',
  cpuCount: 4,
  memoryBytes: 8 * 2 ** 30,
  addresses: ['10.0.0.1'],
  version: 'sim',
};

export class World {
  readonly clock: VirtualClock;
  readonly history: History;
  readonly faults: Faults;
  readonly plan: Plan;
  readonly backends: ReadonlyMap<string, StorageBackend>;
  readonly nodes: ReadonlyMap<string, SimNode>;
  readonly processes = new Map<string, SimProcess>();
  readonly server: ApiServer;
  readonly admin: KubeClient & Discovery;
  readonly users: Users;
  /** Of all components. */
  readonly log: Log;
  readonly #random: SeededRandom;
  readonly #mutation: Partial<Mutation>;
  /** Nodes that stay down until `endSilence`. */
  readonly silent = new Set<string>();
  readonly #heldDown = new Set<string>();
  readonly #stalled = new Set<string>();
  #calls = 0;
  #starts = 0;
  #over = false;

  static async create(options: WorldOptions): Promise<World> {
    const clock = new VirtualClock();
    const server = await createApiServer({
      clock,
      random: options.random.fork('apiserver'),
      log: silentLog,
      listen: false,
      tracksFields: false,
      serves: ({ group, plural }) => group !== RBAC && !UNUSED.has(plural),
      admission: { nodeLabelPrefixes: ['topology.sim.berth'] },
      image: options.start.image,
      pki: options.start.pki,
    });
    return new World(options, clock, server);
  }

  private constructor(options: WorldOptions, clock: VirtualClock, server: ApiServer) {
    this.clock = clock;
    this.server = server;
    this.plan = options.plan;
    this.#random = options.random;
    this.#mutation = options.mutation ?? noMutation;
    this.history = new History(() => clock.monotonicMs());
    this.faults = new Faults({
      random: options.random.fork('faults'),
      history: this.history,
      enabled: options.enabled,
      intensity: Math.max(options.plan.intensity, 0.0001),
      skipped: options.skipped ?? new Set(),
      script: options.plan.script ?? [],
    });
    const hasSecrets = options.plan.classes.some(({ secrets }) => secrets);
    this.log = options.log ?? (hasSecrets ? watchedLog(this.history) : silentLog);
    this.admin = server.client(server.adminUser);
    this.users = new Users({
      kube: this.admin,
      history: this.history,
      plan: this.plan,
      isSilent: (node) => this.silent.has(node),
    });
    const backends = this.plan.drivers.map(
      (plan) =>
        new StorageBackend({
          plan,
          clock,
          random: options.random.fork(`storage ${plan.name}`),
          history: this.history,
        }),
    );
    this.backends = new Map(backends.map((backend) => [backend.plan.name, backend]));
    this.nodes = new Map(this.plan.nodes.map((plan) => [plan.name, new SimNode(plan, backends, clock)]));
    for (const resource of FOLLOWED) {
      server.reader.subscribe(resource, (before, after) => {
        const key = keyOf((after ?? before) as KubeObject);
        this.history.add({ kind: 'api', plural: resource.plural, key, before, after });
      });
    }
  }

  startAll(): void {
    this.#mutation.start?.(this);
    for (const name of processNames(this.plan)) this.start(name);
  }

  start(name: string): void {
    if (this.#over || this.processes.get(name)?.alive || this.#heldDown.has(name)) return;
    const process = new SimProcess(name, this.clock, this.#mutation.isDeaf ?? false);
    this.processes.set(name, process);
    this.#starts += 1;
    this.history.add({ kind: 'process', process: name, what: 'starts' });
    const random = this.#random.fork(`process ${name} ${this.#starts}`);
    const end = (error?: unknown): void => this.#ended(process, error);
    this.#run(process, random).then(() => end(), end);
  }

  crash(name: string, restartAfterMs: number): void {
    const process = this.processes.get(name);
    if (!process?.alive) return;
    this.history.add({ kind: 'process', process: name, what: 'crashes' });
    process.crash();
    this.clock.setTimeout(() => this.start(name), restartAfterMs);
  }

  /** SIGTERM, and SIGKILL after a grace period. */
  stop(name: string, restartAfterMs: number): void {
    const process = this.processes.get(name);
    if (!process?.alive || process.stopping) return;
    this.history.add({ kind: 'process', process: name, what: 'is told to stop' });
    process.stop();
    this.clock.setTimeout(() => {
      process.crash();
      this.start(name);
    }, restartAfterMs);
  }

  /** Kills it. It is not restarted until `letUp`. */
  holdDown(name: string): void {
    this.#heldDown.add(name);
    this.crash(name, 0);
  }

  letUp(name: string): void {
    if (this.silent.has(name.replace(/^node-/, ''))) return;
    this.#heldDown.delete(name);
    this.start(name);
  }

  /** The machine runs on with its mounts, but reaches nothing any more. */
  silence(node: string): void {
    this.silent.add(node);
    this.holdDown(`node-${node}`);
  }

  async endSilence(): Promise<void> {
    for (const node of [...this.silent]) {
      this.silent.delete(node);
      await this.users.welcome(node);
      this.letUp(`node-${node}`);
    }
  }

  setStalled(name: string, isStalled: boolean): void {
    if (isStalled) this.#stalled.add(name);
    else this.#stalled.delete(name);
  }

  /** Ends all faults: drivers are up, storage has room, all processes run. */
  heal(): void {
    this.faults.active = false;
    this.#stalled.clear();
    for (const backend of this.backends.values()) {
      backend.isDown = false;
      backend.isFull = false;
      backend.lieMs = 0;
    }
    this.#heldDown.clear();
    for (const node of this.silent) this.#heldDown.add(`node-${node}`);
    // A Node that was deleted is registered again when its agent restarts.
    for (const name of this.nodes.keys()) {
      if (!this.server.reader.get(kinds.nodes, { name })) this.crash(`node-${name}`, 0);
    }
    for (const name of processNames(this.plan)) this.start(name);
  }

  /** Cuts all its processes off. It holds only memory, so nothing has to be stopped. */
  end(): void {
    this.#over = true;
    for (const process of this.processes.values()) process.end();
  }

  #ended(process: SimProcess, error: unknown): void {
    if (!process.alive) return;
    const why =
      error === undefined ? 'ends' : `ends: ${error instanceof Error ? error.message : String(error)}`;
    this.history.add({ kind: 'process', process: process.name, what: why });
    if (!process.stopping && !(error instanceof LeadershipLostError)) {
      this.history.violate('component-failed', `${process.name} ${why}`);
    }
    // A process that ends is restarted, as a container is.
    const stopped = process.stopping;
    process.crash();
    if (!stopped) this.clock.setTimeout(() => this.start(process.name), 1000);
  }

  #run(process: SimProcess, random: SeededRandom): Promise<void> {
    const [kind, first = '', index = '0'] = process.name.split('-');
    switch (kind) {
      case 'node':
        return this.#runNode(process, first, random);
      case 'provisioner':
      case 'attacher':
      case 'resizer':
        return this.#runSidecar(process, kind, first, index, random);
      default:
        return this.#runControlPlane(process, random);
    }
  }

  #mutated({ name }: SimProcess): Partial<Mutation> | undefined {
    return name.startsWith(this.#mutation.process ?? '') ? this.#mutation : undefined;
  }

  #kubeFor(process: SimProcess, random: SeededRandom, user = this.server.adminUser): KubeClient & Discovery {
    const inner = this.server.client(user);
    return faultyKube({
      inner: this.#mutated(process)?.kube?.(inner, this) ?? inner,
      process,
      clock: this.clock,
      random: random.fork('kube'),
      faults: this.faults,
      history: this.history,
      isStalled: () => this.#stalled.has(process.name),
      crash: () => this.crash(process.name, 200 + random.int(5000)),
    });
  }

  #linkFor(process: SimProcess, backend: StorageBackend, node: string, random: SeededRandom): CsiTransport {
    const link = faultyLink({
      driver: {
        name: backend.plan.name,
        isDown: () => backend.isDown,
        transport: () => (node === '' ? backend.controller : backend.node(node)),
        pace: (call, ms) => backend.pace(call, ms),
        mayBeDone: (call) => backend.mayBeDone(call),
      },
      node,
      boots: () => this.nodes.get(node)?.boots ?? 0,
      process,
      clock: this.clock,
      random: random.fork(`link ${backend.plan.name}`),
      faults: this.faults,
      history: this.history,
      nextId: () => ++this.#calls,
      crash: () => this.crash(process.name, 200 + random.int(5000)),
    });
    return this.#mutated(process)?.csi?.(link, this) ?? link;
  }

  #common(process: SimProcess, kube: KubeClient & Discovery, random: SeededRandom) {
    const log = this.log;
    const { clock, signal } = process;
    return {
      kube,
      clock,
      random: random.fork('component'),
      log,
      recorder: createEventRecorder({ kube, clock, random, log, component: process.name, signal }),
    };
  }

  async #runControlPlane(process: SimProcess, random: SeededRandom): Promise<void> {
    const kube = this.#kubeFor(process, random);
    const common = this.#common(process, kube, random);
    const informers = createInformers(common);
    // Informers are shared; each controller writes, and is authorized, under its own account.
    const portsFor = (user: User) => {
      const own = this.#kubeFor(process, random, user);
      return { ...common, kube: own, informers, discovery: own };
    };
    const parts = [
      ...controllers.map(({ account, create }) =>
        create(portsFor(serviceAccountUser('kube-system', account))),
      ),
      createScheduler(portsFor(SCHEDULER)),
    ];
    informers.start(process.signal);
    await Promise.all(parts.map((part) => part.run(process.signal)));
  }

  async #runSidecar(
    process: SimProcess,
    kind: keyof typeof SIDECARS,
    short: string,
    index: string,
    random: SeededRandom,
  ): Promise<void> {
    const backend = [...this.backends.values()].find(({ plan }) => plan.short === short) as StorageBackend;
    const kube = this.#kubeFor(process, random, serviceAccountUser('kube-system', `csi-${kind}`));
    const csi = this.#linkFor(process, backend, '', random);
    const { clock, signal } = process;
    const common = this.#common(process, kube, random);
    const driver = await identifyDriver(csi, { clock, log: common.log, timeoutMs: 5000, signal });
    const lead = async (leading: AbortSignal): Promise<void> => {
      const informers = createInformers(common);
      const ports: SidecarPorts = { ...common, informers, csi, driver, metrics: unreadMetrics };
      const sidecar = SIDECARS[kind](ports);
      informers.start(leading);
      await sidecar.run(leading);
    };
    if (backend.plan.replicas === 1) return lead(signal);
    await runWithLease(
      {
        ...common,
        namespace: 'kube-system',
        name: `${kind}-${short}`,
        identity: `${process.name}_${index}_${random.suffix(4)}`,
      },
      this.#mutated(process)?.lead?.(lead, process) ?? lead,
      signal,
    );
  }

  async #runNode(process: SimProcess, nodeName: string, random: SeededRandom): Promise<void> {
    const node = this.nodes.get(nodeName) as SimNode;
    const user = { name: `system:node:${nodeName}`, groups: ['system:nodes', 'system:authenticated'] };
    const kube = this.#kubeFor(process, random, user);
    const common = this.#common(process, kube, random);
    const informers = createInformers(common);
    const links = new Map<string, CsiTransport>();
    const agent = createNodeAgent({
      ...common,
      informers,
      connect: (address) =>
        node.connect(address, (driver) => {
          const known = links.get(driver);
          if (known) return known;
          const link = this.#linkFor(process, this.backends.get(driver) as StorageBackend, nodeName, random);
          links.set(driver, link);
          return link;
        }),
      mounter: process.cut(node.mounter),
      files: process.cut(this.#mutated(process)?.files?.(node.files) ?? node.files),
      options: { nodeName, rootDir: KUBELET_ROOT, host: { ...NODE_HOST, hostname: nodeName } },
    });
    informers.start(process.signal);
    await agent.run(process.signal);
  }
}

const PROVISIONER = { ...DEFAULT_PROVISIONER_FLAGS, retryIntervalMaxMs: 60_000 };
const ATTACHER = { ...DEFAULT_ATTACHER_FLAGS, retryIntervalMaxMs: 60_000 };
const RESIZER = {
  ...DEFAULT_RESIZER_FLAGS,
  retryIntervalMaxMs: 60_000,
  featureGates: { ...DEFAULT_RESIZER_FLAGS.featureGates, AnnotateFsResize: true },
};
const SIDECARS = {
  provisioner: (ports: SidecarPorts) =>
    createProvisioner(
      { ...ports, env: {}, namespace: 'kube-system', kubeWith: () => ports.kube },
      PROVISIONER,
    ),
  attacher: (ports: SidecarPorts) => createAttacher(ports, ATTACHER),
  resizer: (ports: SidecarPorts) => createResizer(ports, RESIZER),
};
