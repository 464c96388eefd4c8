// The deployment plan, from the command line: the only input of the files in this folder. Also the names that the parts
// of a deployment share. Pure.

import { createHash } from 'node:crypto';
import type { Draft, KubeObject } from '../api/object.ts';
import { type DriverName, sanitizedDriverName } from '../csi/names/driver-name.ts';

/** `daemonset`: driver and sidecars in one pod on each node. */
export type ControllerShape = 'deployment' | 'statefulset' | 'daemonset' | 'none';

/** The target of an argument: a container, or the driver in both pods. */
export type ArgumentsOf = (container: string) => readonly string[];

/** A manifest to print. */
export type Manifest = Draft<KubeObject> & { spec?: unknown };

export interface Plan {
  driverName: DriverName;
  /** The driver's image. */
  image: string;
  /** An image with `berth` on its PATH. */
  berthImage: string;
  namespace: string;
  /** Of the node pods, which are privileged. */
  nodeNamespace: string;
  makesNamespace: boolean;
  /** Which Secrets the sidecars may read. */
  secrets: 'none' | 'everywhere' | { namespace: string };
  controller: ControllerShape;
  replicas: number;
  /** All replicas work at once, each on its share. */
  isSharded?: boolean;
  /** The sidecars of the controller pod. */
  sidecars: readonly string[];
  hasRegistrar: boolean;
  hasProbe: boolean;
  /** Each node's sidecars act for that node's storage only, without a leader. */
  isPerNode: boolean;
  /** The snapshotter makes group snapshots, too. */
  groupSnapshots: boolean;
  /** Secret with the certificate of the snapshot metadata service; empty for one named after the driver. */
  metadataTlsSecret: string;
  /** One container per sidecar instead of one for all. */
  isSeparate: boolean;
  arguments: ArgumentsOf;
  /** Verbosity of Berth's containers. */
  logLevel: number;
  hasNetworkPolicy: boolean;
  /** Ports of the driver that the NetworkPolicy lets in, beside those of metrics and health. */
  driverPorts: readonly number[];
  /** The user of the controller pod; root when undefined. */
  controllerUser: number | undefined;
  controllerNodeSelector: Readonly<Record<string, string>>;
  /** Host directories that are mounted into the driver of the controller pod, at the same path. */
  controllerHostPaths: readonly string[];
  kubeletDir: string;
  /** Host directories that are mounted into the driver on each node, at the same path. */
  hostPaths: readonly string[];
  hostNetwork: boolean;
  healthPort: number;
  csiDriver: {
    podInfo: boolean;
    fsGroupPolicy: string;
    lifecycleModes: readonly string[];
    requiresRepublish: boolean;
    tokenAudiences: readonly string[];
    storageCapacity: boolean;
    seLinuxMount: boolean;
  };
}

/** The problem with the plan, as a sentence; undefined when there is none. */
export function problemOf(plan: Plan): string | undefined {
  const { controller, replicas, csiDriver, sidecars } = plan;
  if (controller === 'statefulset' && replicas > 1) {
    return `--controller=statefulset has one replica, not ${replicas}: only a Deployment elects a leader; use --controller=deployment`;
  }
  if (controller === 'daemonset' && replicas > 1) {
    return `--controller=daemonset has one pod on each node; leave out --replicas=${replicas}`;
  }
  if (plan.isSharded && (controller === 'statefulset' || controller === 'none' || plan.isPerNode)) {
    return '--sharding needs several replicas of the controller: use --controller=deployment or --controller=daemonset, without --node-deployment';
  }
  if (plan.isPerNode && controller !== 'daemonset') {
    return '--node-deployment needs --controller=daemonset: the sidecars of each node run beside its driver';
  }
  const clusterWide = plan.isPerNode && sidecars.find((name) => !PER_NODE.includes(name));
  if (clusterWide) {
    return `--node-deployment: the ${clusterWide} cannot act for one node only; leave it out of --sidecars, which may have ${PER_NODE.join(', ')}`;
  }
  if (csiDriver.storageCapacity && !(controller !== 'none' && sidecars.includes('provisioner'))) {
    return '--storage-capacity needs the provisioner, which publishes it; add it to --sidecars';
  }
  if (plan.groupSnapshots && !sidecars.includes('snapshotter')) {
    return '--group-snapshots needs the snapshotter; add it to --sidecars';
  }
  if (controller === 'daemonset' && plan.nodeNamespace !== plan.namespace) {
    return `--controller=daemonset has one pod for everything: leave out --node-namespace=${plan.nodeNamespace}`;
  }
  if (plan.controllerUser !== undefined && !hasOwnPod(plan)) {
    return `--controller-user=${plan.controllerUser} is the user of the controller's own pod, which --controller=${controller} has not`;
  }
  const [controllerPath] = plan.controllerHostPaths;
  if (controllerPath !== undefined && !hasOwnPod(plan)) {
    return `--controller-host-path=${controllerPath} is for the controller's own pod, which --controller=${controller} has not; use --host-path`;
  }
  const relative = [plan.kubeletDir, ...plan.hostPaths, ...plan.controllerHostPaths].find(
    (path) => !path.startsWith('/'),
  );
  if (relative !== undefined) return `"${relative}" is not an absolute path`;
  const tooLong = hostSockets(plan).find((path) => Buffer.byteLength(path) > LONGEST_SOCKET);
  if (tooLong !== undefined) {
    return `the socket ${tooLong} would have ${Buffer.byteLength(tooLong)} bytes, and Linux allows ${LONGEST_SOCKET}: use a shorter --kubelet-dir`;
  }
  return undefined;
}

const hasOwnPod = ({ controller }: Plan): boolean =>
  controller === 'deployment' || controller === 'statefulset';

const HOSTNAME = 'kubernetes.io/hostname';

/** What is right in some clusters only, as a sentence; undefined when there is nothing. */
export function warningOf({ controllerHostPaths, controllerNodeSelector }: Plan): string | undefined {
  if (controllerHostPaths.length === 0 || Object.hasOwn(controllerNodeSelector, HOSTNAME)) return undefined;
  return (
    `the controller may run on any node, and finds that node's ${controllerHostPaths.join(', ')} there: right only where ` +
    `the nodes share it; otherwise choose one node, as in --controller-node-selector ${HOSTNAME}=NODE`
  );
}

/** Of a unix socket's path, without the final zero. */
const LONGEST_SOCKET = 107;

/** The directory of the driver's socket on the host. */
export const pluginDir = ({ kubeletDir, driverName }: Pick<Plan, 'kubeletDir' | 'driverName'>): string =>
  `${kubeletDir}/plugins/${sanitizedDriverName(driverName)}`;

/** The sockets that the kubelet connects to. */
const hostSockets = (plan: Plan): string[] => [
  `${pluginDir(plan)}/csi.sock`,
  `${plan.kubeletDir}/plugins_registry/${sanitizedDriverName(plan.driverName)}-reg.sock`,
];

/** The sidecars that divide their objects among replicas. Of the others one replica leads, or each serves. */
export const SHARDING: readonly string[] = ['provisioner', 'attacher', 'resizer', 'snapshotter'];

/** The sidecars that can act for one node's storage only. */
export const PER_NODE: readonly string[] = ['provisioner', 'snapshotter'];

export const GROUPS_GATE = '--feature-gates=CSIVolumeGroupSnapshot=true';

/** A Deployment may briefly run two pods, even with one replica; a StatefulSet never does. */
export const electsLeader = ({ controller, isPerNode }: Plan): boolean =>
  controller === 'deployment' || (controller === 'daemonset' && !isPerNode);

/** Labels have at most 63 characters, and Kubernetes appends to the names of StatefulSets and DaemonSets in some. */
const LONGEST_BASE = 40;
const DIGEST = 8;

/** The base name and labels of this driver's objects, unique per driver. */
export function baseName({ driverName }: Pick<Plan, 'driverName'>): string {
  const plain = driverName.toLowerCase().replaceAll('.', '-');
  if (plain.length <= LONGEST_BASE) return plain;
  const digest = createHash('sha256').update(driverName).digest('hex').slice(0, DIGEST);
  return `${plain.slice(0, LONGEST_BASE - DIGEST - 1)}-${digest}`;
}
export const controllerName = (plan: Plan): string => `${baseName(plan)}-controller`;
export const nodeName = (plan: Plan): string => `${baseName(plan)}-node`;

/** The driver's socket, in every container of a pod. */
export const SOCKET_DIR = '/csi';
export const SOCKET = `${SOCKET_DIR}/csi.sock`;

export function labelsOf(plan: Plan, component: 'controller' | 'node'): Record<string, string> {
  return { 'app.kubernetes.io/name': baseName(plan), 'app.kubernetes.io/component': component };
}
