// Where everything of a real node is, and the configuration files of its programs. All of it is below the data directory, so
// that neither another kubelet nor another containerd of the machine is touched. Pure.

import { createHash } from 'node:crypto';
import { join } from 'node:path';

export interface KubeletHome {
  /** Of everything but the kubelet's root, whose place is that of any node. */
  readonly path: string;
  readonly containerdConfig: string;
  readonly containerdSocket: string;
  readonly containerdRoot: string;
  readonly containerdState: string;
  readonly runc: string;
  readonly kubeletConfig: string;
  readonly kubeconfig: string;
  readonly ca: string;
  readonly certificates: string;
  readonly cniConfig: string;
  readonly cniState: string;
  readonly flexVolumes: string;
  readonly podLogs: string;
  readonly kubeletLog: string;
  readonly containerdLog: string;
  /** Names that the whole machine shares, so each data directory has its own. */
  readonly bridge: string;
  readonly cgroup: string;
}

/** Short names: a socket's path has 107 bytes in all. */
export function kubeletHome(dataDirectory: string): KubeletHome {
  const path = join(dataDirectory, 'k');
  const own = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 8);
  return {
    path,
    containerdConfig: join(path, 'containerd.toml'),
    containerdSocket: join(path, 'c.sock'),
    containerdRoot: join(path, 'containerd'),
    containerdState: join(path, 's'),
    runc: join(path, 'runc'),
    kubeletConfig: join(path, 'kubelet.json'),
    kubeconfig: join(path, 'kubelet.kubeconfig'),
    ca: join(path, 'ca.crt'),
    certificates: join(path, 'pki'),
    cniConfig: join(path, 'cni'),
    cniState: join(path, 'addresses'),
    flexVolumes: join(path, 'flexvolumes'),
    podLogs: join(path, 'logs'),
    kubeletLog: join(path, 'kubelet.log'),
    containerdLog: join(path, 'containerd.log'),
    // Names of interfaces have 15 characters at most.
    bridge: `berth-${own}`,
    cgroup: `berth-${own}`,
  };
}

export interface ContainerdChoices {
  readonly cni: string;
  readonly sandboxImage: string;
  /** `native` where overlayfs cannot be used. */
  readonly snapshotter: 'overlayfs' | 'native';
  /** Whether the kernel lets this user lower an OOM score; containers of the system ask for that. */
  readonly lowersOomScore: boolean;
}

const CRI = 'plugins."io.containerd.grpc.v1.cri"';

/** Version 2 is read by containerd 1.6 and 1.7, and migrated by 2.x. */
export function containerdConfig(home: KubeletHome, choices: ContainerdChoices): string {
  const text = JSON.stringify;
  return [
    'version = 2',
    `root = ${text(home.containerdRoot)}`,
    `state = ${text(home.containerdState)}`,
    '[grpc]',
    `  address = ${text(home.containerdSocket)}`,
    `[${CRI}]`,
    `  sandbox_image = ${text(choices.sandboxImage)}`,
    `  restrict_oom_score_adj = ${!choices.lowersOomScore}`,
    // Otherwise network namespaces would be mounted in /run/netns, outside of the data directory.
    '  netns_mounts_under_state_dir = true',
    `  [${CRI}.containerd]`,
    `    snapshotter = ${text(choices.snapshotter)}`,
    `    [${CRI}.containerd.runtimes.runc]`,
    '      runtime_type = "io.containerd.runc.v2"',
    `      [${CRI}.containerd.runtimes.runc.options]`,
    `        Root = ${text(home.runc)}`,
    // The kubelet is told the same: a mismatch would leave pods in ContainerCreating.
    '        SystemdCgroup = false',
    `  [${CRI}.cni]`,
    `    bin_dir = ${text(choices.cni)}`,
    `    conf_dir = ${text(home.cniConfig)}`,
    '',
  ].join('\n');
}

export function kubeletConfiguration(
  home: KubeletHome,
  { address, port }: { address: string; port: number },
): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    port,
    readOnlyPort: 0,
    healthzPort: 0,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: home.ca },
    },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${home.containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${home.cgroup}`,
    // The whole machine is not the kubelet's: nothing is reserved, evicted or collected because of what others use.
    enforceNodeAllocatable: [],
    evictionHard: {
      'imagefs.available': '0%',
      'memory.available': '0%',
      'nodefs.available': '0%',
      'nodefs.inodesFree': '0%',
    },
    imageGCHighThresholdPercent: 100,
    failSwapOn: false,
    failCgroupV1: false,
    makeIPTablesUtilChains: false,
    volumePluginDir: home.flexVolumes,
    podLogsDir: home.podLogs,
    // Pods start at once, also many: there is no registry or API server to be spared.
    registryPullQPS: 0,
    serializeImagePulls: false,
  };
}

/** A bridge with addresses from `subnet`; pods reach this machine, each other, and by masquerading the world. */
export function cniConfiguration(home: KubeletHome, subnet: string): object {
  return {
    cniVersion: '0.4.0',
    name: home.bridge,
    plugins: [
      {
        type: 'bridge',
        bridge: home.bridge,
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: home.cniState,
          ranges: [[{ subnet }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}
