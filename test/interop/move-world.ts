// A cluster whose sidecars, snapshot controller and driver can be exchanged while it is in use: a driver, what binds, schedules and
// attaches, and stacks of sidecars, such as the official one and ours, with the same flags, the same accounts and the same leases.

import { readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  csiDrivers,
  csiNodes,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import type { Resource } from '../../src/api/object.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import type { Informers } from '../../src/runtime/informer/informer.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { peerPath } from '../capabilities.ts';
import {
  COMPONENT_NAMESPACE,
  componentKubeconfig,
  installDefinitions,
  installRoles,
} from './component-access.ts';
import { startKubeApiserver } from './kube-apiserver.ts';
import { berth, type Processes, type Program, processes } from './processes.ts';
import { type Settled, settledIn } from './settled.ts';

export const DRIVER = 'hostpath.move.test';
export const NODE = 'node-a';
const COMPONENTS = ['provisioner', 'attacher', 'resizer', 'snapshotter', 'snapshot-controller'] as const;
type Component = (typeof COMPONENTS)[number];
const SNAPSHOT_KINDS: readonly Resource[] = [volumeSnapshots, volumeSnapshotContents, volumeSnapshotClasses];
/** A step waits for a dead leader's lease, and for programs that start beside others on a busy machine. */
const STEP_LIMIT_MS = 120_000;
/** Short, so that a dead leader is missed for seconds. Nothing is asserted about it. */
const ELECTION = [
  '--leader-election',
  `--leader-election-namespace=${COMPONENT_NAMESPACE}`,
  '--leader-election-lease-duration=8s',
  '--leader-election-renew-deadline=6s',
  '--leader-election-retry-period=1s',
];

const peer = (name: string): Program => [peerPath(name) ?? name];
const STACKS = {
  official: (component: Component) =>
    peer(component === 'snapshot-controller' ? component : `csi-${component}`),
  berth: (component: Component) => berth(component),
} satisfies Record<string, (component: Component) => Program>;
export type Stack = keyof typeof STACKS;

/** `berth` of another source tree. */
export type BerthOf = (command: string) => Program;

export const OFFICIAL_PROGRAMS = COMPONENTS.map((component) => STACKS.official(component)[0]).map(
  (path) => path.split('/').at(-1) ?? '',
);

/** An API server, with its admin's kubeconfig. */
export interface MoveServer {
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

export interface MoveOptions {
  startServer?: (directory: string) => Promise<MoveServer>;
  firstDriver?: BerthOf;
}

export interface MoveWorld {
  kube: KubeClient;
  informers: Informers;
  settled: Settled;
  /** Starts the sidecars and the snapshot controller of one stack; they wait while others have the leases, and are started again if they end. */
  startStack(stack: Stack | BerthOf): Promise<Pick<Processes, 'stop'>>;
  /** Ends the driver, and starts this tree's in its place. */
  replaceDriver(program: BerthOf, signal: NodeJS.Signals): Promise<void>;
  /** What is left, by kind; and on the storage. */
  left(): Promise<Record<string, string[]>>;
  /** The leases of the sidecars, by name. */
  leaseNames(): Promise<string[]>;
  stop(): Promise<void>;
}

export async function createMoveWorld(
  directory: string,
  { startServer = startKubeApiserver, firstDriver = berth }: MoveOptions = {},
): Promise<MoveWorld> {
  const server = await startServer(directory);
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const config = await loadKubeConfig({ path: server.kubeconfig, env: {} });
  const kube = createHttpKubeClient({ ...ports, config });
  const stopping = new AbortController();
  const informers = createInformers({ ...ports, kube });
  const running = processes();
  const stacks: Processes[] = [];
  const output = () => [running, driver, ...stacks].map((each) => each.output()).join('\n');
  const settled = settledIn(informers, { signal: stopping.signal, output, limitMs: STEP_LIMIT_MS });
  const address = join(directory, 'csi.sock');
  const state = join(directory, 'state');

  let driver = processes();
  const startDriver = (program: BerthOf): void => {
    const argv = [`--endpoint=unix://${address}`, `--driver-name=${DRIVER}`, `--node-id=${NODE}`];
    driver.start(program('driver hostpath'), [...argv, `--state-dir=${state}`]);
  };

  const stop = async (): Promise<void> => {
    stopping.abort();
    for (const stack of stacks) await stack.stop();
    await driver.stop();
    await running.stop();
    await kube.close();
    await server.stop();
  };
  try {
    await installDefinitions(kube, SNAPSHOT_KINDS);
    await installRoles(kube, COMPONENTS);
    await mkdir(state);
    startDriver(firstDriver);
    const asAdmin = [`--kubeconfig=${server.kubeconfig}`, '--leader-elect=false'];
    // No kubelet says that the node is well.
    running.start(berth('controller-manager'), [...asAdmin, '--controllers=*,-node-lifecycle-controller']);
    running.start(berth('scheduler'), asAdmin);
    await makeObjects(kube);
    informers.start(stopping.signal);
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    kube,
    informers,
    settled,
    async startStack(stack) {
      const programOf = typeof stack === 'string' ? STACKS[stack] : stack;
      const started = processes();
      stacks.push(started);
      let isStopping = false;
      for (const component of COMPONENTS) {
        const access = { kubeconfig: server.kubeconfig, directory };
        const path = await componentKubeconfig(kube, access, component);
        const ofDriver = component === 'snapshot-controller' ? [] : [`--csi-address=${address}`];
        const argv = [`--kubeconfig=${path}`, ...ELECTION, ...ofDriver, '-v=4'];
        const start = (): void => {
          const child = started.start(programOf(component), argv, { NAMESPACE: COMPONENT_NAMESPACE });
          // As a kubelet does: one that loses its lease ends.
          child.once('exit', () => void (isStopping || stopping.signal.aborted || start()));
        };
        start();
      }
      return {
        stop(signal) {
          isStopping = true;
          return started.stop(signal);
        },
      };
    },
    async replaceDriver(program, signal) {
      await driver.stop(signal);
      driver = processes();
      startDriver(program);
    },
    async left() {
      const kinds = [
        persistentVolumeClaims,
        persistentVolumes,
        volumeAttachments,
        volumeSnapshots,
        volumeSnapshotContents,
      ] as Resource[];
      const lists = await Promise.all(
        kinds.map(async (kind) => {
          const { items } = await kube.list(kind);
          return [kind.plural, items.map(({ metadata }) => metadata.name)] as const;
        }),
      );
      const stored = ['volumes', 'snapshots'].map((name) => [name, readdirSync(join(state, name))] as const);
      return Object.fromEntries([...lists, ...stored].filter(([, names]) => names.length > 0));
    },
    async leaseNames() {
      const { items } = await kube.list(leases, { namespace: COMPONENT_NAMESPACE });
      return items.map(({ metadata }) => metadata.name).sort();
    },
    stop,
  };
}

async function makeObjects(kube: KubeClient): Promise<void> {
  await kube.create(nodes, { metadata: { name: NODE } });
  const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  await kube.patch(nodes, { name: NODE }, ready, { type: 'merge', subresource: 'status' });
  const drivers = [{ name: DRIVER, nodeID: NODE, topologyKeys: [] }];
  await kube.create(csiNodes, { metadata: { name: NODE }, spec: { drivers } });
  await kube.create(csiDrivers, { metadata: { name: DRIVER }, spec: { attachRequired: true } });
  await kube.create(storageClasses, {
    metadata: { name: 'now' },
    provisioner: DRIVER,
    reclaimPolicy: 'Delete',
    allowVolumeExpansion: true,
  });
  await kube.create(volumeSnapshotClasses, {
    metadata: { name: 'usual' },
    driver: DRIVER,
    deletionPolicy: 'Delete',
  });
}
