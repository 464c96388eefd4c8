// A kubelet of BERTH_PEERS with a containerd of its own, as a node of a cluster. Several nodes of one machine differ in what the machine
// has once: bridge, cgroup, ports. Every node has its kubelet at the same path, as in a cluster of machines; so each but the first is in a
// mount namespace, where other directories are at these paths.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import {
  cniConfiguration,
  containerdConfig,
  type KubeletHome,
  kubeletConfiguration,
} from '../../src/cluster/kubelet/kubelet-plan.ts';
import { findKubeletPrograms } from '../../src/cluster/kubelet/kubelet-programs.ts';
import { endLeftovers } from '../../src/cluster/kubelet/leftovers.ts';
import type { PodNetwork } from '../../src/cluster/kubelet/pod-network.ts';
import {
  chooseForMachine,
  freePort,
  makeCgroups,
  shareMounts,
} from '../../src/cluster/kubelet/prepare-machine.ts';
import { openLinuxMounter } from '../../src/runtime/mount/linux-mounter.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { peerPath } from '../capabilities.ts';
import { undoAfter } from '../e2e/up-process.ts';
import { type Program, processes } from '../interop/processes.ts';
import { PAUSE } from './real-up.ts';

export interface KubeNode {
  readonly name: string;
  readonly home: KubeletHome;
  readonly network: PodNetwork;
  /** With the node's token. */
  readonly kubeconfig: string;
  readonly images: readonly string[];
  /** The kubelet's, the same on every node. */
  readonly rootDir: string;
  /** From a path that every node has to the directory of this node; empty for the first node. */
  readonly own: Readonly<Record<string, string>>;
}

/** Resolves with what its programs print; ended after the test. The bridge is there already. */
export async function startKubeNode(t: Pick<TestContext, 'after'>, node: KubeNode): Promise<() => string> {
  const { home, network, rootDir } = node;
  const programs = await findKubeletPrograms(peerPath('kubelet'), process.env);
  const mounter = await openLinuxMounter();
  const running = processes();
  undoAfter(t, async () => {
    await running.stop();
    await endLeftovers(home, { mounter, clock: realClock });
  });
  for (const path of [home.path, home.cniConfig, home.podLogs]) await mkdir(path, { recursive: true });
  await makeCgroups(home.cgroup);
  if (!(rootDir in node.own)) await shareMounts(rootDir, mounter);
  const choices = await chooseForMachine({ home, programs, sandboxImage: PAUSE });
  await writeFile(home.containerdConfig, containerdConfig(home, choices));
  await writeFile(
    join(home.cniConfig, '10-test.conflist'),
    JSON.stringify(cniConfiguration(home, network.subnet)),
  );
  const containerd = running.start(withMounts(node.own, [programs.containerd]), [
    '--config',
    home.containerdConfig,
  ]);
  while (!existsSync(home.containerdSocket)) await realClock.sleep(50);
  const beside: Program =
    Object.keys(node.own).length === 0
      ? [programs.kubelet]
      : ['nsenter', `--mount=/proc/${containerd.pid}/ns/mnt`, '--', programs.kubelet];
  for (const image of node.images) {
    const to = ['--address', home.containerdSocket, '--namespace', 'k8s.io'];
    const args = [...to, 'images', 'import', '--snapshotter', choices.snapshotter, image];
    await promisify(execFile)(programs.ctr, args);
  }
  const configuration = {
    ...kubeletConfiguration(home, { address: network.gateway, port: await freePort(network.gateway) }),
    // The server has no certificate for its calls to the kubelet, which only this machine can reach.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
  };
  await writeFile(home.kubeletConfig, JSON.stringify(configuration));
  running.start(beside, [
    `--config=${home.kubeletConfig}`,
    `--kubeconfig=${node.kubeconfig}`,
    `--hostname-override=${node.name}`,
    `--node-ip=${network.gateway}`,
    `--root-dir=${rootDir}`,
    `--cert-dir=${home.certificates}`,
  ]);
  return () => running.output();
}

/** In a mount namespace that ends with the node's last process; mounts below these paths reach its pods, and no other node. */
function withMounts(own: KubeNode['own'], [program]: readonly [string]): Program {
  const pairs = Object.entries(own);
  if (pairs.length === 0) return [program];
  const script = [
    ...pairs.flatMap((_, index) => {
      const [path, directory] = [`"$${2 * index + 1}"`, `"$${2 * index + 2}"`];
      // What the first node has mounted there would hide that this mount is shared.
      const free = `{ ! mountpoint -q ${path} || umount --lazy ${path}; }`;
      return [free, `mount --bind ${directory} ${path}`, `mount --make-rshared ${path}`];
    }),
    `shift ${2 * pairs.length}`,
    'exec "$@"',
  ].join(' && ');
  return ['unshare', '--mount', '--', 'sh', '-c', script, 'sh', ...pairs.flat(), program];
}
