// What is to be deployed, as decided by the command line: the one input of everything in this folder. Also the names
// that the parts of a deployment know each other by. Pure.

import { createHash } from 'node:crypto';
import type { Draft, KubeObject } from '../api/object.ts';
import { driverNameProblem } from '../csi/names/driver-name.ts';

export type ControllerShape = 'deployment' | 'statefulset' | 'none';

/** Whose command line an argument is for: a container, or the driver in both pods. */
export type ArgumentsOf = (container: string) => readonly string[];

/** An object as it is printed. */
export type Manifest = Draft<KubeObject> & { spec?: unknown };

export interface Plan {
  driverName: string;
  /** The driver's own image. */
  image: string;
  /** An image that has `berth` on its PATH. */
  berthImage: string;
  namespace: string;
  makesNamespace: boolean;
  /** Which Secrets the sidecars may read. */
  secrets: 'none' | 'everywhere' | { namespace: string };
  controller: ControllerShape;
  replicas: number;
  /** Those of the controller's pod that speak to the API. */
  sidecars: readonly string[];
  hasRegistrar: boolean;
  hasProbe: boolean;
  /** A container for each sidecar instead of one for all. */
  isSeparate: boolean;
  arguments: ArgumentsOf;
  controllerNodeSelector: Readonly<Record<string, string>>;
  kubeletDir: string;
  /** Directories of the host that the driver on each node also sees, at the same path. */
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

/** What cannot be deployed, in one sentence; undefined when all is well. */
export function problemOf(plan: Plan): string | undefined {
  const { driverName, controller, replicas, csiDriver, sidecars } = plan;
  const misnamed = driverNameProblem(driverName);
  if (misnamed !== undefined) return `${JSON.stringify(driverName)} cannot be a driver's name: ${misnamed}`;
  if (controller === 'statefulset' && replicas > 1) {
    return `--controller=statefulset has one replica, not ${replicas}: only a Deployment elects a leader; use --controller=deployment`;
  }
  if (csiDriver.storageCapacity && !(controller !== 'none' && sidecars.includes('provisioner'))) {
    return '--storage-capacity needs the provisioner, which publishes it; add it to --sidecars';
  }
  const relative = [plan.kubeletDir, ...plan.hostPaths].find((path) => !path.startsWith('/'));
  if (relative !== undefined) return `"${relative}" is not an absolute path`;
  return undefined;
}

/** A Deployment may have two pods for a moment, even with one replica; a StatefulSet never. */
export const electsLeader = ({ controller }: Plan): boolean => controller === 'deployment';

/** Labels hold 63 characters, and Kubernetes makes some by adding to the names of StatefulSets and DaemonSets. */
const LONGEST_BASE = 40;
const DIGEST = 8;

/** What the objects of this driver are called, and kept apart from another driver's by. */
export function baseName({ driverName }: Pick<Plan, 'driverName'>): string {
  const plain = driverName.toLowerCase().replaceAll('.', '-');
  if (plain.length <= LONGEST_BASE) return plain;
  const digest = createHash('sha256').update(driverName).digest('hex').slice(0, DIGEST);
  return `${plain.slice(0, LONGEST_BASE - DIGEST - 1)}-${digest}`;
}
export const controllerName = (plan: Plan): string => `${baseName(plan)}-controller`;
export const nodeName = (plan: Plan): string => `${baseName(plan)}-node`;

/** Where every container of a pod finds the driver. */
export const SOCKET_DIR = '/csi';
export const SOCKET = `${SOCKET_DIR}/csi.sock`;

export function labelsOf(plan: Plan, component: 'controller' | 'node'): Record<string, string> {
  return { 'app.kubernetes.io/name': baseName(plan), 'app.kubernetes.io/component': component };
}
