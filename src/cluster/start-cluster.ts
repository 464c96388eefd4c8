// Everything in one process: the API server, the control plane, the nodes, and for each driver its sidecars and
// registrars, joined by API objects and sockets as in production. Owns the order in which they start and stop.

import { tmpdir } from 'node:os';
import { csiNodes } from '../api/kinds.ts';
import type { ApiServer, User } from '../apiserver/index.ts';
import type { ControlPlaneGates } from '../control-plane/controller.ts';
import type { Interceptor } from '../csi/server/serve-call.ts';
import { recordedConnection } from '../recording/recorded-connection.ts';
import type { Recorder } from '../recording/recorder.ts';
import { createSharedCaches } from '../runtime/informer/shared-caches.ts';
import { bothLogs } from '../runtime/log/both-logs.ts';
import type { Mounter } from '../runtime/mount/mounter.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import { supervise } from '../runtime/process/supervise.ts';
import { traceApiChanges } from '../trace/api-changes.ts';
import { LogBook } from '../trace/log-book.ts';
import { TraceBook } from '../trace/trace-book.ts';
import { keepTrace } from '../trace/trace-file.ts';
import { WritesUnderWay } from '../trace/writes-under-way.ts';
import { assembleParts } from './assemble-parts.ts';
import type { BroughtDriver, DriverWishes } from './brought-driver.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import { ClusterFaults } from './cluster-faults.ts';
import { openServer } from './cluster-server.ts';
import type { DataDirectory } from './data-directory.ts';
import { startHostpath } from './hostpath-driver.ts';
import { installObjects } from './install-objects.ts';
import { endAbandoned } from './kubelet/abandoned.ts';
import { kubeletHome } from './kubelet/kubelet-plan.ts';
import { endLeftovers, hasLeftovers } from './kubelet/leftovers.ts';
import {
  openRealNode,
  type PlannedRealNode,
  planRealNode,
  type RealNode,
  type RealNodeOptions,
} from './kubelet/real-node.ts';
import { keepNodesInMemory, type NodesInMemory } from './nodes-in-memory.ts';
import { type PartContext, type PartPorts, partPorts } from './part-context.ts';
import { PartMetrics } from './part-metrics.ts';
import type { PlannedNode } from './plan-nodes.ts';
import { writeServingFiles } from './serving-files.ts';
import type { SidecarFlags } from './sidecars-part.ts';
import { namesOf, stopCluster } from './stop-cluster.ts';
import { unmountBelow } from './unmount-below.ts';

export interface ClusterOptions {
  clock: Clock;
  random: Random;
  log: Log;
  mounter: Mounter;
  version: string;
  /** Of the process, for bug reports. */
  commandLine?: readonly string[];
  directory: DataDirectory;
  nodes: readonly PlannedNode[];
  /** One of the nodes is a real kubelet with containers. */
  kubelet?: RealNodeOptions;
  /** Drivers that are not part of Berth. */
  brought: readonly BroughtDriver[];
  /** Settings for those of them that have no CSIDriver object yet, if any were given. */
  wishes?: DriverWishes;
  /** Parameters of their StorageClasses. */
  classParameters?: Readonly<Record<string, string>>;
  /** Keeps the log lines for `berth logs`; default a new one. */
  logs?: LogBook;
  /** Names of parts that somebody else runs. */
  without: ReadonlySet<string>;
  /** Flags of sidecars; their defaults unless given. */
  sidecarFlags?: SidecarFlags;
  host: string;
  port: number;
  kubeconfig: string;
  /** Whether the parts count what they do. */
  metrics?: boolean;
  /** Nodes replace a topology label that only one driver uses when that driver says something else. */
  replaceTopologyLabels?: boolean;
  /** Of the nodes; zero or less: no volume statistics. */
  volumeStatsAggPeriodMs?: number;
  /** Of nodes and control plane; off unless given. */
  gates?: ControlPlaneGates & { readonly SELinuxMount?: boolean };
  /** Pods may name existing volumes of the drivers by their handle. */
  inlineHandles: boolean;
  /** In a user namespace: no loop devices. */
  isRootless?: boolean;
  /** Records the calls of all parts to drivers. */
  recorder?: Recorder;
  /** See each call to hostpath on its way in. */
  interceptors?: readonly Interceptor[];
  signal: AbortSignal;
}

export interface Cluster {
  readonly url: string;
  readonly server: ApiServer;
  readonly book: TraceBook;
  readonly drivers: readonly ClusterDriver[];
  /** Calls that are broken and components that are crashed on purpose. */
  readonly faults: ClusterFaults;
  /** For somebody beside its parts, under an account of its own. */
  portsFor(part: { name: string; user: User; signal: AbortSignal }): PartPorts;
  /** Stops everything; resolves with what could not be removed, as text. Keeps persistent data. */
  stop(): Promise<string[]>;
}

/** Resolves once everything serves: the drivers are registered on their nodes, claims would be bound. */
export async function startCluster(given: ClusterOptions): Promise<Cluster> {
  const { clock, random, directory, brought, nodes, without, signal } = given;
  const logs = given.logs ?? new LogBook(clock);
  const log = bothLogs(given.log, logs.log);
  const options: ClusterOptions = { ...given, log };
  const book = new TraceBook({ clock });
  const writes = new WritesUnderWay();
  const ending = new AbortController();
  const undo: (() => unknown)[] = [];
  const unwind = async (): Promise<void> => {
    ending.abort(new Error('the cluster stops'));
    for (const step of undo.reverse()) await step();
  };
  // Before anything else: if the directory is another cluster's, its mounts must stay.
  const metrics = options.metrics ? new PartMetrics(clock) : undefined;
  const planned = options.kubelet && planRealNode(options.kubelet, directory);
  const faults = new ClusterFaults({ ...options, nodeNames: nodes.map(({ name }) => name) });
  const server = await openServer(
    options,
    { book, logs, metrics, faults },
    planned && [planned.network.gateway],
  );
  undo.push(() => server.stop());
  const home = kubeletHome(directory.path);
  const endRealNode = async (): Promise<void> => {
    if (!hasLeftovers(home)) return;
    for (const what of await endLeftovers(home, options)) log.warn(what);
  };
  let nodesInMemory: NodesInMemory | undefined;
  try {
    // Containers that outlived a crash.
    await endRealNode();
    undo.push(endRealNode);
    if (planned) {
      for (const path of await endAbandoned(tmpdir(), options)) {
        log.warn('Ended the containers of an ephemeral cluster that had crashed', { directory: path });
      }
    }
    const real = planned && (await openReal(planned, server, options));
    // Nodes that run elsewhere manage their own directories, and a kubelet's may be large.
    const runsAll =
      real === undefined && !['nodes', ...nodes.map(({ name }) => name)].some((part) => without.has(part));
    nodesInMemory = runsAll ? await keepNodesInMemory(directory.nodes, options) : undefined;
    const inMemory = nodesInMemory;
    if (!directory.isEphemeral) {
      const kept = await keepTrace({ path: directory.trace, book, clock, log });
      undo.push(() => kept.stop());
    }
    undo.push(traceApiChanges({ reader: server.reader, book, writes }));
    const hostpath = without.has('hostpath') ? undefined : await startHostpath(options);
    if (hostpath) undo.push(() => hostpath.stop());
    await installObjects(server, options, hostpath);
    const reader = {
      kube: server.client(server.adminUser),
      log: log.with({ part: 'caches' }),
      clock,
      random,
    };
    const caches = createSharedCaches(reader, ending.signal);
    const serving = await writeServingFiles(
      server.pki,
      directory.serving,
      planned?.network.gateway ?? options.host,
    );
    const { gates = {} } = options;
    const common = { clock, random, log };
    const { recorder } = options;
    const record: PartContext['record'] =
      recorder && ((connection, by) => recordedConnection(connection, recorder, by));
    const context: PartContext = {
      server,
      book,
      writes,
      caches,
      metrics,
      serving,
      gates,
      faults,
      record,
      ...common,
    };
    const drivers: ClusterDriver[] = [...(hostpath ? [hostpath] : []), ...brought];
    faults.begin(server, drivers);
    const parts = [...assembleParts(context, options, drivers), ...(real?.parts ?? [])];
    const running = supervise(parts, {
      clock,
      random,
      log,
      signal: ending.signal,
    });
    undo.push(() => running.ended);
    const stopped = abortion(signal);
    const started = Promise.all([running.serving, registered(server, options, drivers)]);
    await Promise.race([started, stopped, ...(real ? [real.failed] : [])]);
    let stopping: Promise<string[]> | undefined;
    return {
      url: server.url ?? '',
      server,
      book,
      drivers,
      faults,
      portsFor: (part) => partPorts(context, part),
      stop: () => {
        // What it takes to delete everything must work again.
        faults.active.removeAll();
        faults.lives.releaseAll();
        stopping ??= stopCluster({ server, unwind, options, nodesInMemory: inMemory });
        return stopping;
      },
    };
  } catch (error) {
    await unwind();
    const { mounter } = options;
    await unmountBelow(directory.path, { mounter, keep: namesOf(brought), except: directory.nodes });
    await nodesInMemory?.release({ keepRecords: brought.length > 0 });
    throw error;
  }
}

async function openReal(
  planned: PlannedRealNode,
  server: ApiServer,
  options: ClusterOptions,
): Promise<RealNode> {
  const node = options.nodes.find(({ name }) => name === planned.nodeName);
  if (node === undefined) throw new Error(`${planned.nodeName} is not one of the nodes`);
  return openRealNode(planned, node, { ...options, server });
}

/** Every driver is on every node that it has a socket for, as far as the nodes are ours. */
async function registered(
  server: ApiServer,
  { without }: ClusterOptions,
  drivers: readonly ClusterDriver[],
): Promise<void> {
  if (without.has('nodes') || without.has('node-registrar')) return;
  const missing = (): boolean =>
    drivers.some(({ name, nodeSockets }) =>
      [...nodeSockets.keys()].some((nodeName) => {
        if (without.has(nodeName)) return false;
        const found = server.reader.get(csiNodes, { name: nodeName });
        // A kubelet's has no list until the first driver registers.
        return !found?.spec.drivers?.some((driver) => driver.name === name);
      }),
    );
  if (!missing()) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = server.reader.subscribe(csiNodes, () => {
    if (!missing()) resolve();
  });
  await promise.finally(unsubscribe);
}

function abortion(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}
