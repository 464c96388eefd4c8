// A real node: a kubelet and a containerd that the user has installed, as parts of the cluster. Writes their configuration,
// makes the pods' network and cgroup, and knows when the node is Ready. What it leaves behind, leftovers.ts removes.

import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Node, nodes } from '../../api/kinds.ts';
import { nodeUser } from '../../apiserver/auth/users.ts';
import type { ApiServer } from '../../apiserver/index.ts';
import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { Part } from '../../runtime/process/supervise.ts';
import { untilAborted } from '../../runtime/time/until-aborted.ts';
import type { DataDirectory } from '../data-directory.ts';
import type { PlannedNode } from '../plan-nodes.ts';
import { claimHome } from './abandoned.ts';
import {
  type ContainerdChoices,
  cniConfiguration,
  containerdConfig,
  type KubeletHome,
  kubeletConfiguration,
  kubeletHome,
} from './kubelet-plan.ts';
import { KubeletError, type KubeletPrograms } from './kubelet-programs.ts';
import {
  choosePodNetwork,
  interfaceAddresses,
  lastLine,
  openBridge,
  type PodNetwork,
} from './pod-network.ts';
import { chooseForMachine, freePort, makeCgroups, shareMounts } from './prepare-machine.ts';
import { programPart } from './program-part.ts';
import { publishApiService } from './publish-api-service.ts';

const run = promisify(execFile);

/** What the user chose. */
export interface RealNodeOptions {
  readonly nodeName: string;
  readonly programs: KubeletPrograms;
  /** The image of the process that holds a pod's namespaces. */
  readonly sandboxImage: string;
  /** Archives of images to import before the kubelet starts. */
  readonly images: readonly string[];
}

export interface PlannedRealNode extends RealNodeOptions {
  readonly home: KubeletHome;
  readonly network: PodNetwork;
}

export interface RealNode {
  readonly parts: readonly Part[];
  /** Rejects when the node does not become Ready for the first time; never resolves. */
  readonly failed: Promise<never>;
}

interface Ports {
  readonly server: ApiServer;
  readonly directory: DataDirectory;
  readonly mounter: Mounter;
  readonly clock: Clock;
}

/** Images are unpacked in this time, too. */
const READY_MS = 60_000;
const LOOK_MS = 50;

export function planRealNode(options: RealNodeOptions, directory: DataDirectory): PlannedRealNode {
  const home = kubeletHome(directory.path);
  return { ...options, home, network: choosePodNetwork(home.bridge, interfaceAddresses()) };
}

/** The API server must cover the network's gateway in its certificate. Leftovers must have been removed. */
export async function openRealNode(
  planned: PlannedRealNode,
  node: PlannedNode,
  ports: Ports,
): Promise<RealNode> {
  const { home, network, programs } = planned;
  const { server, directory, clock } = ports;
  const root = directory.nodeRoot(node.name);
  for (const path of [home.path, home.cniConfig, home.podLogs, root]) {
    await mkdir(path, { recursive: true, mode: 0o700 });
  }
  await claimHome(home);
  await openBridge(home.bridge, network);
  const apiPort = await server.listenAt(network.gateway);
  await publishApiService(server, { address: network.gateway, port: apiPort });
  await shareMounts(root, ports.mounter);
  await makeCgroups(home.cgroup);
  await server.keepKubeconfig(home.kubeconfig, nodeUser(node.name));
  const port = await freePort(network.gateway);
  const choices = await chooseForMachine(planned);
  await writeFile(home.ca, server.pki.caPem);
  await writeFile(home.containerdConfig, containerdConfig(home, choices));
  await writeJson(home.kubeletConfig, kubeletConfiguration(home, { address: network.gateway, port }));
  await writeJson(join(home.cniConfig, '10-berth.conflist'), cniConfiguration(home, network.subnet));

  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => {});
  const imported = Promise.withResolvers<void>();
  const containerd = programPart(
    {
      name: 'containerd',
      path: programs.containerd,
      args: ['--config', home.containerdConfig],
      log: home.containerdLog,
      async serves(signal) {
        await accepts(home.containerdSocket, { clock, signal });
        try {
          for (const image of planned.images) await importImage(image, planned, choices);
          imported.resolve();
        } catch (error) {
          reject(error);
          throw error;
        }
      },
    },
    ports,
  );
  const kubelet = programPart(
    {
      name: `kubelet of ${node.name}`,
      path: programs.kubelet,
      args: [
        `--config=${home.kubeletConfig}`,
        `--kubeconfig=${home.kubeconfig}`,
        `--hostname-override=${node.name}`,
        `--node-ip=${network.gateway}`,
        `--root-dir=${root}`,
        `--cert-dir=${home.certificates}`,
        `--node-labels=${labelsOf(node)}`,
      ],
      log: home.kubeletLog,
      serves: (signal) => isReady(server, { name: node.name, port, clock, signal }, reject),
    },
    ports,
  );
  const afterImages: Part = {
    name: kubelet.name,
    async run(signal, serving) {
      await untilAborted(imported.promise, signal);
      await kubelet.run(signal, serving);
    },
  };
  return { parts: [failingOnce(containerd, reject), failingOnce(afterImages, reject)], failed };
}

/** A program that ends before it has ever served ends the start of the cluster; later it is only started again. */
function failingOnce(part: Part, fail: (error: unknown) => void): Part {
  let hasServed = false;
  return {
    name: part.name,
    async run(signal, serving) {
      try {
        await part.run(signal, () => {
          hasServed = true;
          serving();
        });
      } catch (error) {
        if (!hasServed) fail(error);
        throw error;
      }
    },
  };
}

/** Resolves once this kubelet, known by its port, has reported Ready. */
async function isReady(
  { reader }: ApiServer,
  { name, port, clock, signal }: { name: string; port: number; clock: Clock; signal: AbortSignal },
  fail: (error: unknown) => void,
): Promise<void> {
  const conditionOf = (node: Node | undefined) =>
    node?.status?.daemonEndpoints?.kubeletEndpoint?.Port === port
      ? node.status.conditions?.find(({ type }) => type === 'Ready')
      : undefined;
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (conditionOf(reader.get(nodes, { name }))?.status === 'True') resolve();
  };
  const unsubscribe = reader.subscribe(nodes, look);
  look();
  const late = new AbortController();
  clock.sleep(READY_MS, AbortSignal.any([signal, late.signal])).then(
    () => {
      const why = conditionOf(reader.get(nodes, { name }))?.message ?? 'the kubelet has not registered it';
      fail(new KubeletError(`node ${name} was not Ready after ${READY_MS / 1000} s: ${why}`));
    },
    () => {},
  );
  try {
    await untilAborted(promise, signal);
  } finally {
    unsubscribe();
    late.abort();
  }
}

async function importImage(
  archive: string,
  { programs, home }: PlannedRealNode,
  { snapshotter }: ContainerdChoices,
): Promise<void> {
  const args = ['--address', home.containerdSocket, '--namespace', 'k8s.io', 'images', 'import'];
  try {
    await run(programs.ctr, [...args, '--snapshotter', snapshotter, archive]);
  } catch (error) {
    throw new KubeletError(`the images of ${archive} could not be imported: ${lastLine(error)}`, {
      cause: error,
    });
  }
}

/** Resolves when somebody listens at the socket. */
async function accepts(
  socket: string,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<void> {
  const tries = (): Promise<boolean> =>
    new Promise((resolve) => {
      const connection = connect(socket);
      connection.once('connect', () => {
        connection.destroy();
        resolve(true);
      });
      connection.once('error', () => resolve(false));
    });
  while (!(await tries())) await clock.sleep(LOOK_MS, signal);
}

function labelsOf({ labels }: PlannedNode): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

async function writeJson(path: string, content: object): Promise<void> {
  await writeFile(path, `${JSON.stringify(content, undefined, 2)}\n`);
}
