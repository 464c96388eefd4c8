// A whole Kubernetes on this machine: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubelet of BERTH_PEERS, and
// Debian's containerd. The files and the network of the node are those of `berth up --kubelet`.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import {
  cniConfiguration,
  containerdConfig,
  kubeletConfiguration,
  kubeletHome,
} from '../../src/cluster/kubelet/kubelet-plan.ts';
import { findKubeletPrograms } from '../../src/cluster/kubelet/kubelet-programs.ts';
import { endLeftovers } from '../../src/cluster/kubelet/leftovers.ts';
import { choosePodNetwork, interfaceAddresses, openBridge } from '../../src/cluster/kubelet/pod-network.ts';
import {
  chooseForMachine,
  freePort,
  makeCgroups,
  shareMounts,
} from '../../src/cluster/kubelet/prepare-machine.ts';
import { unmountBelow } from '../../src/cluster/unmount-below.ts';
import { openLinuxMounter } from '../../src/runtime/mount/linux-mounter.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { peerPath } from '../capabilities.ts';
import { run, undoAfter } from '../e2e/up-process.ts';
import { startKubeApiserver } from '../interop/kube-apiserver.ts';
import { processes } from '../interop/processes.ts';
import { PAUSE } from './real-up.ts';

/** The programs of BERTH_PEERS, beside the kubelet and kubectl. */
export const KUBE_PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const NODE = 'kubelet-1';
const NODE_TOKEN = 'test-node-token';
/** The Service `kubernetes`. Nothing routes to Services here, so this machine has the address, and the server its port. */
const API_SERVICE = { address: '10.0.0.1', port: 443 };

export interface KubeCluster {
  readonly kubeconfig: string;
  /** The kubelet's. */
  readonly rootDir: string;
  kubectl(...args: readonly string[]): Promise<string>;
  apply(manifests: string): Promise<string>;
  /** What programs said, to explain a failure. */
  output(): string;
}

/** Ready, with these archives of images; ended after the test. */
export async function startKubeCluster(
  t: Pick<TestContext, 'after'>,
  directory: string,
  { images }: { images: readonly string[] },
): Promise<KubeCluster> {
  const exec = promisify(execFile);
  const dataDir = join(directory, 'd');
  const rootDir = join(dataDir, 'n', NODE);
  const home = kubeletHome(dataDir);
  const network = choosePodNetwork(home.bridge, interfaceAddresses());
  const programs = await findKubeletPrograms(peerPath('kubelet'), process.env);
  const mounter = await openLinuxMounter();
  const running = processes();
  undoAfter(t, async () => {
    await running.stop();
    await endLeftovers(home, { mounter, clock: realClock });
    await unmountBelow(directory, { mounter, keep: new Set(), except: '' });
  });
  for (const path of [home.path, home.cniConfig, home.podLogs, rootDir])
    await mkdir(path, { recursive: true });
  await openBridge(home.bridge, network);
  await exec('ip', ['address', 'add', `${API_SERVICE.address}/32`, 'dev', home.bridge]);
  const server = await startKubeApiserver(directory, {
    disabledAdmission: [],
    address: network.gateway,
    port: API_SERVICE.port,
    tokens: [`${NODE_TOKEN},system:node:${NODE},node,system:nodes`],
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

  await shareMounts(rootDir, mounter);
  await makeCgroups(home.cgroup);
  const choices = await chooseForMachine({ home, programs, sandboxImage: PAUSE });
  await writeFile(home.containerdConfig, containerdConfig(home, choices));
  await writeFile(
    join(home.cniConfig, '10-test.conflist'),
    JSON.stringify(cniConfiguration(home, network.subnet)),
  );
  running.start([programs.containerd], ['--config', home.containerdConfig]);
  while (!existsSync(home.containerdSocket)) await realClock.sleep(50);
  for (const image of images) {
    const to = ['--address', home.containerdSocket, '--namespace', 'k8s.io'];
    await exec(programs.ctr, [...to, 'images', 'import', '--snapshotter', choices.snapshotter, image]);
  }
  const port = await freePort(network.gateway);
  const configuration = {
    ...kubeletConfiguration(home, { address: network.gateway, port }),
    // The server has no certificate for its calls to the kubelet, which only this machine can reach.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
  };
  await writeFile(home.kubeletConfig, JSON.stringify(configuration));
  running.start(
    [programs.kubelet],
    [
      `--config=${home.kubeletConfig}`,
      `--kubeconfig=${await server.kubeconfigFor('node', NODE_TOKEN)}`,
      `--hostname-override=${NODE}`,
      `--node-ip=${network.gateway}`,
      `--root-dir=${rootDir}`,
      `--cert-dir=${home.certificates}`,
    ],
  );
  const kubectlWith = async (args: readonly string[], input?: string): Promise<string> => {
    const answer = await run(peerPath('kubectl') ?? '', ['--kubeconfig', server.kubeconfig, ...args], {
      ...(input !== undefined && { input }),
      timeoutMs: 170_000,
    });
    if (answer.code === 0) return answer.stdout;
    throw new Error(
      `kubectl ${args.join(' ')} ended with ${answer.code}: ${answer.stderr}\n${running.output()}`,
    );
  };
  await kubectlWith(['wait', '--for=create', `node/${NODE}`, '--timeout=60s']);
  await kubectlWith(['wait', '--for=condition=Ready', `node/${NODE}`, '--timeout=60s']);
  return {
    kubeconfig: server.kubeconfig,
    rootDir,
    kubectl: (...args) => kubectlWith(args),
    apply: (manifests) => kubectlWith(['apply', '-f', '-'], manifests),
    output: () => running.output(),
  };
}
