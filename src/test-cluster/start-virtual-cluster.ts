// Starts a cluster under virtual time, for drivers written with the SDK: no sockets, no mounts, no root. Time passes only while
// the test waits, so an hour of retries takes milliseconds, and a seed makes a run repeatable.

import { csiNodes } from '../api/kinds.ts';
import { createApiServer, DEFAULT_NODE_LABEL_PREFIXES } from '../apiserver/index.ts';
import { identifyBroughtDriver } from '../cluster/brought-driver.ts';
import { controlPlanePart, programPart, schedulerPart } from '../cluster/control-plane-part.ts';
import { drain } from '../cluster/drain.ts';
import { installObjects } from '../cluster/install-objects.ts';
import { nodePart } from '../cluster/node-part.ts';
import type { PartContext } from '../cluster/part-context.ts';
import { clusterControllers, clusterSidecars } from '../cluster/parts.ts';
import { planNodes } from '../cluster/plan-nodes.ts';
import { sidecarsPart } from '../cluster/sidecars-part.ts';
import type { CsiConnection } from '../csi/client/connect-csi.ts';
import type { Driver } from '../driver/driver.ts';
import { createSharedCaches } from '../runtime/informer/shared-caches.ts';
import { silentLog } from '../runtime/log/log.ts';
import type { MemoryMounter } from '../runtime/mount/memory-mounter.ts';
import { supervise } from '../runtime/process/supervise.ts';
import { seededRandom } from '../runtime/random.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { traceApiChanges } from '../trace/api-changes.ts';
import { TraceBook } from '../trace/trace-book.ts';
import { WritesUnderWay } from '../trace/writes-under-way.ts';
import { TestCluster, type TestClusterParts } from './test-cluster.ts';
import { type VirtualMachine, VirtualNode } from './virtual-node.ts';

export interface VirtualClusterOptions {
  /** Makes the driver of each node, on the machine that it gets; that of the first node has the controller service. */
  driver: (machine: VirtualMachine) => Driver;
  /** Default 1. */
  nodes?: number;
  classParameters?: Readonly<Record<string, string>>;
  /** The same seed gives the same run. */
  seed?: string;
  /** How much virtual time each wait may take; default one hour. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 3_600_000;
/** Real I/O ends before virtual time moves on; only the start reads files. */
const START_MS = 60_000;

export class VirtualCluster extends TestCluster {
  readonly clock: VirtualClock;
  readonly #mounters: ReadonlyMap<string, MemoryMounter>;

  constructor(
    parts: TestClusterParts & { clock: VirtualClock },
    mounters: ReadonlyMap<string, MemoryMounter>,
  ) {
    super(parts);
    this.clock = parts.clock;
    this.#mounters = mounters;
  }

  /** Mount points of a node. */
  mountsOn(nodeName: string): string[] {
    return (this.#mounters.get(nodeName)?.mounts ?? []).map(({ mountPoint }) => mountPoint);
  }

  /** Lets virtual time pass. */
  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }
}

export async function startVirtualCluster(options: VirtualClusterOptions): Promise<VirtualCluster> {
  const clock = new VirtualClock();
  const random = seededRandom(options.seed ?? 'berth');
  const log = silentLog;
  const planned = planNodes(options.nodes ?? 1);
  const nodes = planned.map(
    ({ name }) => new VirtualNode({ nodeName: name, clock, random: random.fork(name) }, options.driver),
  );
  const connect = (address: string): CsiConnection => {
    for (const node of nodes) {
      const found = node.connect(address);
      if (found) return found;
    }
    throw new Error(`nothing listens at ${address}`);
  };
  const ending = new AbortController();
  const { signal } = ending;
  const [first] = nodes;
  const sockets = { controller: first?.socket ?? '', nodes: nodes.map(({ socket }) => socket) };
  const nodeNames = planned.map(({ name }) => name);
  const brought = await identifyBroughtDriver(sockets, { nodeNames, clock, signal, connect });
  const server = await createApiServer({
    clock,
    random: random.fork('apiserver'),
    log,
    listen: false,
    admission: { nodeLabelPrefixes: [...DEFAULT_NODE_LABEL_PREFIXES, ...brought.topologyKeys] },
  });
  const { classParameters = {} } = options;
  await installObjects(server, { brought: [brought], log, inlineHandles: false, classParameters }, undefined);
  const book = new TraceBook({ clock });
  const writes = new WritesUnderWay();
  traceApiChanges({ reader: server.reader, book, writes });
  const caches = createSharedCaches(
    { kube: server.client(server.adminUser), log, clock, random: random.fork('caches') },
    signal,
  );
  const context: PartContext = { server, book, writes, caches, clock, random, log, connect };
  const flags = { values: {}, given: new Set<string>() };
  const running = supervise(
    [
      controlPlanePart(context, clusterControllers),
      schedulerPart(context),
      programPart(context, 'snapshot-controller'),
      sidecarsPart(context, brought, { sidecars: clusterSidecars, flags }),
      ...nodes.map(({ root, files, machine }, index) =>
        nodePart(
          context,
          { ...(planned[index] as (typeof planned)[number]), root },
          { mounter: machine.mounter, files, version: 'test', replaceTopologyLabels: false },
        ),
      ),
    ],
    { clock, random, log, signal },
  );
  const settle = async <T>(promise: Promise<T>): Promise<T> =>
    (await clock.runUntil(promise, options.timeoutMs ?? TIMEOUT_MS)) as T;
  await clock.runUntil(running.serving, START_MS);
  await clock.runUntil(
    () =>
      nodeNames.every((name) =>
        server.reader.get(csiNodes, { name })?.spec.drivers?.some((each) => each.name === brought.name),
      ),
    START_MS,
  );
  const stop = async (): Promise<string[]> => {
    const left = await settle(drain(server, { clock }));
    ending.abort(new Error('the cluster stops'));
    await settle(running.ended);
    await server.stop();
    return left;
  };
  return new VirtualCluster(
    {
      server,
      book,
      driverName: brought.name,
      nodeNames,
      clock,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      settle,
      stop,
    },
    new Map(nodes.map(({ machine }) => [machine.nodeName, machine.mounter])),
  );
}
