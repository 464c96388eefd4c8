// What a simulated process runs: the real components, each from its ordinary factory, with ports that faults can strike.
// The name of a process says what it is: control-plane, snapshot-controller, node-NODE, or SIDECAR-DRIVER-REPLICA.

import { serviceAccountUser } from '../apiserver/auth/users.ts';
import type { User } from '../apiserver/pipeline.ts';
import { controllers } from '../control-plane/index.ts';
import { createScheduler } from '../control-plane/scheduler/scheduler.ts';
import {
  createSnapshotController,
  SNAPSHOT_CONTROLLER_DEFAULTS,
} from '../control-plane/snapshot/snapshot-controller.ts';
import type { CsiTransport } from '../csi/client/transport.ts';
import { createNodeAgent } from '../node/node-agent.ts';
import { createEventRecorder } from '../runtime/events/create-event-recorder.ts';
import { createInformers } from '../runtime/informer/create-informers.ts';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';
import { runWithLease } from '../runtime/leases/run-with-lease.ts';
import { unreadMetrics } from '../runtime/metrics/unread-metrics.ts';
import type { SeededRandom } from '../runtime/random.ts';
import { fencedKube } from '../runtime/sharding/fenced-ports.ts';
import type { Membership } from '../runtime/sharding/membership.ts';
import { type RunShardedOptions, runSharded } from '../runtime/sharding/run-sharded.ts';
import { createAttacher } from '../sidecars/attacher/attacher.ts';
import { DEFAULT_ATTACHER_FLAGS } from '../sidecars/attacher/attacher-flags.ts';
import { fencedCsi } from '../sidecars/common/fenced-csi.ts';
import { identifyDriver } from '../sidecars/common/identify-driver.ts';
import type { SidecarPorts } from '../sidecars/common/sidecar.ts';
import { createProvisioner } from '../sidecars/provisioner/provisioner.ts';
import { DEFAULT_PROVISIONER_FLAGS } from '../sidecars/provisioner/provisioner-flags.ts';
import { createResizer } from '../sidecars/resizer/resizer.ts';
import { DEFAULT_RESIZER_FLAGS } from '../sidecars/resizer/resizer-flags.ts';
import { createSnapshotter, type SnapshotterOptions } from '../sidecars/snapshotter/snapshotter.ts';
import type { DriverBackend } from './driver-backend.ts';
import { faultyKube } from './faulty-kube.ts';
import { faultyLink } from './faulty-link.ts';
import type { Mutation } from './mutation.ts';
import { KUBELET_ROOT, type SimNode } from './sim-node.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

const SCHEDULER: User = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };

type RunShardedPorts = Pick<RunShardedOptions, 'kube' | 'clock' | 'log'>;

/** Longer than by default: renewals are most of what happens in a world with replicas. */
export const SIM_MEMBER_DURATION_MS = 10_000;

const NODE_HOST = {
  os: 'linux',
  arch: 'amd64',
  kernelVersion: '6',
  cpuCount: 4,
  memoryBytes: 8 * 2 ** 30,
  addresses: ['10.0.0.1'],
  version: 'sim',
};

export class Components {
  readonly #world: World;
  readonly #mutation: Partial<Mutation>;
  /** Of all calls to drivers. */
  #calls = 0;

  constructor(world: World, mutation: Partial<Mutation>) {
    this.#world = world;
    this.#mutation = mutation;
  }

  /** Resolves when the process has ended by itself. */
  run(process: SimProcess, random: SeededRandom): Promise<void> {
    const [kind, first = '', index = '0'] = process.name.split('-');
    switch (kind) {
      case 'node':
        return this.#runNode(process, first, random);
      case 'provisioner':
      case 'attacher':
      case 'resizer':
      case 'snapshotter':
        return this.#runSidecar(process, kind, first, index, random);
      case 'snapshot':
        return this.#runSnapshotController(process, random);
      default:
        return this.#runControlPlane(process, random);
    }
  }

  #mutated({ name }: SimProcess): Partial<Mutation> | undefined {
    return name.startsWith(this.#mutation.process ?? '') ? this.#mutation : undefined;
  }

  #kubeFor(
    process: SimProcess,
    random: SeededRandom,
    user = this.#world.server.adminUser,
  ): KubeClient & Discovery {
    const inner = this.#world.server.client(user);
    return faultyKube({
      inner: this.#mutated(process)?.kube?.(inner, this.#world) ?? inner,
      process,
      clock: this.#world.clock,
      random: random.fork('kube'),
      faults: this.#world.faults,
      history: this.#world.history,
      isStalled: () => this.#world.isStalled(process.name),
      crash: () => this.#world.crash(process.name, 200 + random.int(5000)),
      ...(this.#world.plan.isSharded && { mayPause: true }),
    });
  }

  #linkFor(process: SimProcess, backend: DriverBackend, node: string, random: SeededRandom): CsiTransport {
    const link = faultyLink({
      driver: {
        name: backend.plan.name,
        isDown: () => backend.isDown,
        transport: () => (node === '' ? backend.controller : backend.node(node)),
        pace: (call, ms) => backend.pace(call, ms),
        mayBeDone: (call) => backend.mayBeDone(call),
      },
      node,
      boots: () => this.#world.nodes.get(node)?.boots ?? 0,
      process,
      clock: this.#world.clock,
      random: random.fork(`link ${backend.plan.name}`),
      faults: this.#world.faults,
      history: this.#world.history,
      nextId: () => ++this.#calls,
      crash: () => this.#world.crash(process.name, 200 + random.int(5000)),
    });
    return this.#mutated(process)?.csi?.(link, this.#world) ?? link;
  }

  #common(process: SimProcess, kube: KubeClient & Discovery, random: SeededRandom) {
    const log = this.#world.log;
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

  async #runSnapshotController(process: SimProcess, random: SeededRandom): Promise<void> {
    const user = serviceAccountUser('kube-system', 'snapshot-controller');
    const common = this.#common(process, this.#kubeFor(process, random, user), random);
    const lead = async (leading: AbortSignal, membership?: Membership): Promise<void> => {
      const informers = createInformers(common);
      const kube = membership ? fencedKube(common.kube, membership) : common.kube;
      const controller = createSnapshotController(
        { ...common, kube, informers, metrics: unreadMetrics, shares: membership },
        SNAPSHOT_CONTROLLER,
      );
      informers.start(leading);
      const ready = membership && informers.synced(leading).then(() => membership.start());
      await (ready ? Promise.all([controller.run(leading), ready]) : controller.run(leading));
    };
    if (!this.#world.plan.isSharded) return lead(process.signal);
    await this.#runShare(process, { ...common, name: 'snapshot-controller-leader', random }, lead);
  }

  async #runShare(
    process: SimProcess,
    { name, random, ...common }: RunShardedPorts & { name: string; random: SeededRandom },
    lead: (leading: AbortSignal, membership: Membership) => Promise<void>,
  ): Promise<void> {
    await runSharded(
      {
        ...common,
        random,
        namespace: 'kube-system',
        name,
        identity: `${process.name}_${random.suffix(4)}`,
        memberDurationMs: SIM_MEMBER_DURATION_MS,
        ...this.#mutated(process)?.sharding?.(process),
      },
      (membership, leading) => {
        this.#world.shares.set(process.name, membership);
        return lead(leading, membership);
      },
      process.signal,
    );
  }

  async #runSidecar(
    process: SimProcess,
    kind: keyof typeof SIDECARS,
    short: string,
    index: string,
    random: SeededRandom,
  ): Promise<void> {
    const backend = [...this.#world.backends.values()].find(
      ({ plan }) => plan.short === short,
    ) as DriverBackend;
    const kube = this.#kubeFor(process, random, serviceAccountUser('kube-system', `csi-${kind}`));
    const csi = this.#linkFor(process, backend, '', random);
    const { clock, signal } = process;
    const common = this.#common(process, kube, random);
    const driver = await identifyDriver(csi, { clock, log: common.log, timeoutMs: 5000, signal });
    const lead = async (leading: AbortSignal, membership?: Membership): Promise<void> => {
      const informers = createInformers(common);
      const ports: SidecarPorts = { ...common, informers, csi, driver, metrics: unreadMetrics };
      if (membership) {
        ports.kube = fencedKube(kube, membership);
        ports.csi = fencedCsi(csi, membership);
        ports.shares = membership;
      }
      const sidecar = SIDECARS[kind](ports);
      informers.start(leading);
      const ready = membership && informers.synced(leading).then(() => membership.start());
      await (ready ? Promise.all([sidecar.run(leading), ready]) : sidecar.run(leading));
    };
    if (this.#world.plan.isSharded) {
      return this.#runShare(process, { ...common, name: `${kind}-${short}`, random }, lead);
    }
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
    const node = this.#world.nodes.get(nodeName) as SimNode;
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
          const link = this.#linkFor(
            process,
            this.#world.backends.get(driver) as DriverBackend,
            nodeName,
            random,
          );
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

/** Well below the time that a cluster has to converge. */
const RETRY_MAX_MS = 60_000;
/** No resync, which would repair a wake-up that was lost before anybody sees that it was. */
const NO_RESYNC_MS = 0;
const SNAPSHOT_CONTROLLER = {
  ...SNAPSHOT_CONTROLLER_DEFAULTS,
  retryMaxMs: RETRY_MAX_MS,
  resyncMs: NO_RESYNC_MS,
};
const SNAPSHOTTER: SnapshotterOptions = {
  timeoutMs: 60_000,
  workers: 10,
  retryStartMs: 1_000,
  retryMaxMs: RETRY_MAX_MS,
  resyncMs: NO_RESYNC_MS,
  naming: { prefix: 'snapshot', uuidLength: -1 },
  groups: { prefix: 'groupsnapshot', uuidLength: -1 },
  extraCreateMetadata: false,
};
/** Sweeps only at the start of a process and soon after, for what a crash left; later ones would be resyncs. */
const SWEEP_ONCE_MS = 86_400_000;
const PROVISIONER = {
  ...DEFAULT_PROVISIONER_FLAGS,
  retryIntervalMaxMs: RETRY_MAX_MS,
  snapshotOrphanSweepIntervalMs: SWEEP_ONCE_MS,
};
const ATTACHER = {
  ...DEFAULT_ATTACHER_FLAGS,
  retryIntervalMaxMs: RETRY_MAX_MS,
  resyncMs: NO_RESYNC_MS,
};
const RESIZER = {
  ...DEFAULT_RESIZER_FLAGS,
  retryIntervalMaxMs: RETRY_MAX_MS,
  resyncPeriodMs: NO_RESYNC_MS,
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
  snapshotter: (ports: SidecarPorts) => createSnapshotter(ports, SNAPSHOTTER),
};
