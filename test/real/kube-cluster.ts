// A whole Kubernetes on this machine: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubelets of BERTH_PEERS, and
// Debian's containerd. The files and the network of a node are those of `berth up --kubelet`.

import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { kubeletHome } from '../../src/cluster/kubelet/kubelet-plan.ts';
import {
  choosePodNetwork,
  closeBridge,
  interfaceAddresses,
  openBridge,
} from '../../src/cluster/kubelet/pod-network.ts';
import { unmountBelow } from '../../src/cluster/unmount-below.ts';
import { openLinuxMounter } from '../../src/runtime/mount/linux-mounter.ts';
import { peerPath } from '../capabilities.ts';
import { run, undoAfter } from '../e2e/up-process.ts';
import { startKubeApiserver } from '../interop/kube-apiserver.ts';
import { processes } from '../interop/processes.ts';
import { startKubeNode } from './kube-node.ts';

/** The programs of BERTH_PEERS, beside the kubelet and kubectl. */
export const KUBE_PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const NODE_TOKEN = 'test-node-token';
/** The Service `kubernetes`. Nothing routes to Services here, so this machine has the address, and the server its port. */
const API_SERVICE = { address: '10.0.0.1', port: 443 };

export interface KubeCluster {
  readonly kubeconfig: string;
  /** The kubelets'. */
  readonly rootDir: string;
  /** Their names. */
  readonly nodes: readonly string[];
  kubectl(...args: readonly string[]): Promise<string>;
  apply(manifests: string): Promise<string>;
  /** What programs said, to explain a failure. */
  output(): string;
}

export interface KubeClusterOptions {
  /** Archives. */
  images: readonly string[];
  /** One, unless given. */
  nodes?: number;
  /** Paths at which each node has a directory of its own: the first node this one, the second `PATH-2`. */
  perNode?: readonly string[];
}

/** Ready; ended after the test. */
export async function startKubeCluster(
  t: Pick<TestContext, 'after'>,
  directory: string,
  { images, nodes = 1, perNode = [] }: KubeClusterOptions,
): Promise<KubeCluster> {
  const exec = promisify(execFile);
  const rootDir = join(directory, 'd', 'n', 'kubelet');
  const names = Array.from({ length: nodes }, (_, index) => `kubelet-${index + 1}`);
  const planned = names.map((name, index) => {
    const home = kubeletHome(join(directory, index === 0 ? 'd' : `d${index + 1}`));
    const shared = [rootDir, ...perNode];
    const own = index === 0 ? {} : Object.fromEntries(shared.map((path) => [path, `${path}-${index + 1}`]));
    return { name, home, own };
  });
  const [first] = planned;
  if (first === undefined) throw new Error('a cluster without nodes has no network for its pods');
  const mounter = await openLinuxMounter();
  const running = processes();
  const outputs = [() => running.output()];
  undoAfter(t, async () => {
    await running.stop();
    for (const { home } of planned) await closeBridge(home.bridge);
    await unmountBelow(directory, { mounter, keep: new Set(), except: '' });
  });
  for (const path of [rootDir, ...perNode, ...planned.flatMap(({ own }) => Object.values(own))])
    await mkdir(path, { recursive: true });
  const networks = [];
  for (const { home } of planned) {
    const network = choosePodNetwork(home.bridge, interfaceAddresses());
    await openBridge(home.bridge, network);
    networks.push(network);
  }
  await exec('ip', ['address', 'add', `${API_SERVICE.address}/32`, 'dev', first.home.bridge]);
  const server = await startKubeApiserver(directory, {
    disabledAdmission: [],
    address: networks[0]?.gateway ?? '',
    port: API_SERVICE.port,
    tokens: names.map((name) => `${NODE_TOKEN}-${name},system:node:${name},${name},system:nodes`),
    args: ['--kubelet-preferred-address-types=InternalIP'],
  });
  undoAfter(t, () => server.stop());
  const asAdmin = [`--kubeconfig=${server.kubeconfig}`, '--leader-elect=false', '--secure-port=0'];
  running.start(
    [peerPath('kube-controller-manager') ?? ''],
    [
      ...asAdmin,
      `--service-account-private-key-file=${join(directory, 'sa.key')}`,
      `--root-ca-file=${join(directory, 'certs', 'apiserver.crt')}`,
    ],
  );
  running.start([peerPath('kube-scheduler') ?? ''], asAdmin);
  const output = (): string => outputs.map((each) => each()).join('\n');
  for (const [index, { name, home, own }] of planned.entries()) {
    const kubeconfig = await server.kubeconfigFor(name, `${NODE_TOKEN}-${name}`);
    const network = networks[index];
    if (network) {
      outputs.push(await startKubeNode(t, { name, home, own, network, kubeconfig, images, rootDir }));
    }
  }
  const kubectlWith = async (args: readonly string[], input?: string): Promise<string> => {
    const answer = await run(peerPath('kubectl') ?? '', ['--kubeconfig', server.kubeconfig, ...args], {
      ...(input !== undefined && { input }),
      timeoutMs: 170_000,
    });
    if (answer.code === 0) return answer.stdout;
    throw new Error(`kubectl ${args.join(' ')} ended with ${answer.code}: ${answer.stderr}\n${output()}`);
  };
  for (const name of names) {
    await kubectlWith(['wait', '--for=create', `node/${name}`, '--timeout=60s']);
    await kubectlWith(['wait', '--for=condition=Ready', `node/${name}`, '--timeout=60s']);
  }
  return {
    kubeconfig: server.kubeconfig,
    rootDir,
    nodes: names,
    kubectl: (...args) => kubectlWith(args),
    apply: (manifests) => kubectlWith(['apply', '-f', '-'], manifests),
    output,
  };
}
