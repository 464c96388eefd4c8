// A whole cluster under virtual time: the API server in memory, processes that can die (components.ts says what each runs),
// machines, storage, users. Starts, kills and restarts the processes. Checks are in checkers/, the course of a run is in
// simulate.ts.

import * as kinds from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { keyOf } from '../api/object.ts';
import { type ApiServer, createApiServer } from '../apiserver/api-server.ts';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';
import { LeadershipLostError } from '../runtime/leases/run-with-lease.ts';
import { silentLog } from '../runtime/log/log.ts';
import type { Log } from '../runtime/ports.ts';
import type { SeededRandom } from '../runtime/random.ts';
import type { Shares } from '../runtime/sharding/shares.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { Components } from './components.ts';
import type { DriverBackend, Subject } from './driver-backend.ts';
import { type Fault, Faults } from './faults.ts';
import { History } from './history.ts';
import { type Mutation, noMutation } from './mutation.ts';
import { type Plan, processNames } from './plan.ts';
import { SimNode } from './sim-node.ts';
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
  subject?: Subject;
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
  kinds.volumeSnapshots,
  kinds.volumeSnapshotContents,
  kinds.volumeGroupSnapshots,
  kinds.volumeGroupSnapshotContents,
] as readonly Resource[] as readonly Resource<KubeObject>[];

/** Kinds that nothing creates here. The garbage collector would only watch them in vain. */
const RBAC = 'rbac.authorization.k8s.io';
const UNUSED = new Set([
  'configmaps',
  'daemonsets',
  'deployments',
  'endpoints',
  'endpointslices',
  'podsecuritypolicies',
  'runtimeclasses',
  'serviceaccounts',
  'services',
]);

export class World {
  readonly clock: VirtualClock;
  readonly history: History;
  readonly faults: Faults;
  readonly plan: Plan;
  readonly backends: ReadonlyMap<string, DriverBackend>;
  readonly nodes: ReadonlyMap<string, SimNode>;
  readonly processes = new Map<string, SimProcess>();
  readonly server: ApiServer;
  readonly admin: KubeClient & Discovery;
  readonly users: Users;
  /** Of all components. */
  readonly log: Log;
  readonly #random: SeededRandom;
  readonly #mutation: Partial<Mutation>;
  readonly #components: Components;
  /** Nodes that stay down until `endSilence`. */
  readonly silent = new Set<string>();
  /** With shares: what each process holds to be its own, by its name. */
  readonly shares = new Map<string, Shares>();
  readonly #heldDown = new Set<string>();
  readonly #stalled = new Set<string>();
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
      image: options.plan.snapshotClasses.length > 0 ? options.start.snapshotImage : options.start.image,
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
    this.#components = new Components(this, this.#mutation);
    this.history = new History(() => clock.monotonicMs());
    this.faults = new Faults({
      random: options.random.fork('faults'),
      history: this.history,
      enabled: options.enabled,
      intensity: Math.max(options.plan.intensity, 0.0001),
      focus: options.plan.focus,
      skipped: options.skipped ?? new Set(),
      script: options.plan.script ?? [],
    });
    const { classes, snapshotClasses } = options.plan;
    const hasSecrets = [...classes, ...snapshotClasses].some(({ secrets }) => secrets);
    this.log = options.log ?? (hasSecrets ? watchedLog(this.history) : silentLog);
    this.admin = server.client(server.adminUser);
    this.users = new Users({
      kube: this.admin,
      history: this.history,
      plan: this.plan,
      isSilent: (node) => this.silent.has(node),
    });
    const backends = this.plan.drivers.map((plan) => {
      const random = options.random.fork(`storage ${plan.name}`);
      const init = { plan, clock, random, history: this.history, faults: this.faults };
      return options.subject?.backend(init) ?? new StorageBackend(init);
    });
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
    this.#components.run(process, random).then(() => end(), end);
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

  pause(name: string): void {
    const process = this.processes.get(name);
    if (!process?.alive || process.isPaused) return;
    this.history.add({ kind: 'process', process: name, what: 'is paused' });
    process.pause();
  }

  resume(name: string): void {
    const process = this.processes.get(name);
    if (!process?.alive || !process.isPaused) return;
    this.history.add({ kind: 'process', process: name, what: 'goes on' });
    process.resume();
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

  isStalled(name: string): boolean {
    return this.#stalled.has(name);
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
    for (const name of this.processes.keys()) this.resume(name);
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
}
