// A cluster for the scale benchmark: an API server, filled with volumes in use, and the parts of Berth, each as a process of its own. Unless
// `direct`, each reaches the server through a proxy that counts.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { volumeSnapshotClasses, volumeSnapshotContents, volumeSnapshots } from '../../src/api/kinds.ts';
import type { Resource } from '../../src/api/object.ts';
import { createHttpKubeClient, type HttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { installDefinitions } from '../../test/interop/component-access.ts';
import { startKubeApiserver } from '../../test/interop/kube-apiserver.ts';
import { CLASS, fillCluster } from '../../test/scale/fill-cluster.ts';
import { startFilledServer } from '../../test/scale/filled-server.ts';
import { needPeers } from '../harness.ts';
import { startInstantDriver } from '../instant-driver.ts';
import { processUsage } from '../process-usage.ts';
import { type Running, startBerth } from '../provisioner-parts.ts';
import {
  type CountingProxy,
  countingProxy,
  kubeconfigText,
  type Upstream,
  upstreamOf,
} from './counting-proxy.ts';

/** Of the node agent that runs. The filled nodes have none. */
export const LIVE_NODE = 'live-0';

/** Arguments of each part beside its kubeconfig. */
const PARTS = {
  provisioner: ['CSI'],
  attacher: ['CSI'],
  resizer: ['CSI'],
  snapshotter: ['CSI'],
  sidecars: ['CSI', '--controllers=provisioner,attacher,resizer,snapshotter'],
  'snapshot-controller': [],
  // Node lifecycle apart: no agent renews the Leases of the filled nodes, so it would declare them lost and evict their pods.
  // No elections: on a machine this busy a leader could lose its Lease, and end.
  'controller-manager': ['--leader-elect=false', '--controllers=*,-node-lifecycle-controller'],
  scheduler: ['--leader-elect=false'],
  node: ['NODE'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type PartName = keyof typeof PARTS;
export const PART_NAMES = Object.keys(PARTS) as PartName[];

export interface Part extends Running {
  /** Undefined when the part reaches the server directly. */
  readonly proxy: CountingProxy | undefined;
}

export interface ScaleWorld {
  readonly kube: HttpKubeClient;
  readonly serverPid: number;
  start(name: PartName): Promise<Part>;
  /** The registrar of the driver, so that the node agent finds it. */
  startRegistrar(): Running;
  stop(): Promise<void>;
}

export interface ScaleOptions {
  readonly directory: string;
  readonly volumes: number;
  readonly nodes: number;
  /** Without counting proxies. */
  readonly direct: boolean;
  /** kube-apiserver and etcd of BERTH_PEERS instead of Berth's own API server. */
  readonly official: boolean;
}

export async function scaleWorld(options: ScaleOptions): Promise<ScaleWorld> {
  const { directory } = options;
  const driver = await startInstantDriver(join(directory, 'd'), { all: true });
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const { volumes, nodes } = options;
  const server = options.official
    ? await officialServer(directory)
    : await startFilledServer({
        kubeconfig: join(directory, 'kubeconfig'),
        driver: driver.name,
        volumes,
        nodes,
      });
  const config = await loadKubeConfig({ env: {}, path: server.kubeconfig });
  const kube = createHttpKubeClient({ ...ports, config });
  if (options.official) {
    await installDefinitions(kube, [
      volumeSnapshots,
      volumeSnapshotContents,
      volumeSnapshotClasses,
    ] as Resource[]);
    const progress = (text: string): void => void process.stderr.write(`${text}\n`);
    await fillCluster(kube, { driver: driver.name, volumes, nodes, progress });
  }
  await kube.create(volumeSnapshotClasses, {
    metadata: { name: CLASS },
    driver: driver.name,
    deletionPolicy: 'Delete',
  });
  const upstream: Upstream = await upstreamOf(server.kubeconfig);
  const root = join(directory, 'k');
  mkdirSync(join(root, 'plugins_registry'), { recursive: true });
  let started = 0;
  const withCsi = [`--csi-address=${driver.socket}`];
  const nodeArgs = [
    `--hostname-override=${LIVE_NODE}`,
    `--root-dir=${root}`,
    '--user-namespace=false',
    '--node-labels=kubernetes.io/os=linux',
  ];
  return {
    kube,
    serverPid: server.pid,
    async start(name) {
      const args = PARTS[name].flatMap((each): string[] =>
        each === 'CSI' ? withCsi : each === 'NODE' ? nodeArgs : [each],
      );
      const proxy = options.direct ? undefined : await countingProxy(upstream);
      const kubeconfig = proxy ? join(directory, `${name}-${started++}.kubeconfig`) : server.kubeconfig;
      if (proxy) writeFileSync(kubeconfig, kubeconfigText(proxy.url));
      const part = startBerth([name, `--kubeconfig=${kubeconfig}`, ...args]);
      return {
        pid: part.pid,
        proxy,
        async stop() {
          await part.stop();
          await proxy?.stop();
        },
      };
    },
    startRegistrar: () =>
      startBerth([
        'node-registrar',
        ...withCsi,
        `--kubelet-registration-path=${driver.socket}`,
        `--plugin-registration-path=${join(root, 'plugins_registry')}`,
      ]),
    async stop() {
      await kube.close();
      await driver.stop();
      await server.stop();
    },
  };
}

interface Server {
  readonly kubeconfig: string;
  readonly pid: number;
  stop(): Promise<void>;
}

async function officialServer(directory: string): Promise<Server> {
  needPeers('etcd', 'kube-apiserver');
  const server = await startKubeApiserver(directory);
  return {
    kubeconfig: server.kubeconfig,
    pid: server.processes['kube-apiserver'] as number,
    stop: () => server.stop(),
  };
}

/** Idle so long, with less processor time than this. */
const REST_MS = 3_000;
const REST_CPU_MS = 30;
/** Its timers go on. */
const SERVER_REST_MS = 100;
/** No part has started with less. */
const START_CPU_MS = 150;
const PATIENCE_MS = 600_000;

/**
 * Resolves when the process is at rest: neither it nor the server uses a processor or waits for one, and no answer is awaited. On a busy
 * machine a process that waits looks like one at rest by its processor time alone.
 */
export async function atRest({ pid, proxy }: Part, { serverPid }: ScaleWorld): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  let bytes = -1;
  for (;;) {
    const [before, serverBefore] = [busyMs(pid), busyMs(serverPid)];
    await realClock.sleep(REST_MS);
    const [after, serverAfter] = [busyMs(pid), busyMs(serverPid)];
    const read = proxy?.watchBytes ?? 0;
    const isIdle =
      after - before < REST_CPU_MS && after > START_CPU_MS && serverAfter - serverBefore < SERVER_REST_MS;
    if (isIdle && (proxy?.inFlight ?? 0) === 0 && read === bytes) return;
    bytes = read;
    if (performance.now() > endMs) throw new Error(`the part was not at rest after ${PATIENCE_MS / 1000} s`);
  }
}

/** Processor time used, and time in which the main thread waited for a processor. */
function busyMs(pid: number): number {
  const usage = processUsage(pid);
  if (usage === undefined) throw new Error('the part ended: BENCH_OUTPUT=1 shows why');
  const [, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return usage.cpuMs + Number(waitedNs) / 1e6;
}
