// The Node object and its status as this agent writes them. Pure.

import type { Node } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';

/** Facts about the machine, from the caller that starts the agent. */
export interface HostFacts {
  hostname: string;
  /** As in Go: `linux`. */
  os: string;
  /** As in Go: `amd64`, `arm64`. */
  arch: string;
  kernelVersion: string;
  cpuCount: number;
  memoryBytes: number;
  /** Addresses other than loopback. */
  addresses: readonly string[];
  version: string;
}

const MOST_PODS = '110';

export function nodeDraft(
  nodeName: string,
  host: HostFacts,
  labels: Readonly<Record<string, string>>,
): Draft<Node> {
  return {
    metadata: { name: nodeName, labels: { ...labels, ...ownLabels(host) } },
    spec: {},
  };
}

function ownLabels({ hostname, os, arch }: HostFacts): Record<string, string> {
  return { 'kubernetes.io/hostname': hostname, 'kubernetes.io/os': os, 'kubernetes.io/arch': arch };
}

/** Missing labels of the node; existing values stay. */
export function missingLabels(
  node: Node,
  wanted: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const current = node.metadata.labels ?? {};
  return Object.fromEntries(Object.entries(wanted ?? {}).filter(([key]) => current[key] === undefined));
}

/** A strategic merge patch of the status, without the fields of other writers, such as `volumesAttached`. */
export function nodeStatusPatch(node: Node, host: HostFacts, nowMs: number): { status: object } {
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const resources = {
    cpu: String(host.cpuCount),
    memory: `${Math.floor(host.memoryBytes / 1024)}Ki`,
    pods: MOST_PODS,
  };
  return {
    status: {
      capacity: resources,
      allocatable: resources,
      addresses: [
        { type: 'Hostname', address: host.hostname },
        ...host.addresses.map((address) => ({ type: 'InternalIP', address })),
      ],
      nodeInfo: {
        architecture: host.arch,
        operatingSystem: host.os,
        kernelVersion: host.kernelVersion,
        kubeletVersion: host.version,
        kubeProxyVersion: host.version,
        osImage: host.os,
        containerRuntimeVersion: 'berth://none',
        bootID: '',
        machineID: '',
        systemUUID: '',
      },
      conditions: CONDITIONS.map(({ type, status, reason, message }) => {
        const before = node.status?.conditions?.find((each) => each.type === type);
        const lastTransitionTime =
          before?.status === status && before.lastTransitionTime ? before.lastTransitionTime : now;
        return { type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime };
      }),
    },
  };
}

const CONDITIONS = [
  {
    type: 'MemoryPressure',
    status: 'False',
    reason: 'NoContainers',
    message: 'this node runs no containers',
  },
  { type: 'DiskPressure', status: 'False', reason: 'NoContainers', message: 'this node runs no containers' },
  { type: 'PIDPressure', status: 'False', reason: 'NoContainers', message: 'this node runs no containers' },
  { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'the node mounts volumes' },
];
