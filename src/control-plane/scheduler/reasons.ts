// Why a pod does not fit a node, in kube-scheduler's words, which dashboards and runbooks match.

import type { DriverName } from '../../csi/names/driver-name.ts';

export const REASONS = {
  unschedulable: 'node(s) were unschedulable',
  notReady: 'node(s) were not ready',
  taint: 'node(s) had untolerated taint(s)',
  nodeAffinity: "node(s) didn't match Pod's node affinity/selector",
  ports: "node(s) didn't have free ports for the requested pod ports",
  tooManyPods: 'Too many pods',
  readWriteOncePod:
    'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
  volumeLimit: 'node(s) exceed max volume count',
  volumeAffinity: "node(s) didn't match PersistentVolume's node affinity",
  noVolume: "node(s) didn't find available persistent volumes to bind",
  noSpace: 'node(s) did not have enough free storage',
  volumeGone: 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
} as const;

export const insufficient = (resource: string): string => `Insufficient ${resource}`;
export const driverMissing = (driver: DriverName): string =>
  `${driver} CSI driver is not installed on the node`;
/** Not a reason of kube-scheduler, which would proceed and leave the provisioner without a topology. */
export const topologyMissing = (driver: DriverName): string =>
  `node(s) did not carry the topology labels of CSI driver ${driver} yet`;

/** Counts nodes by the reason that ruled them out. */
export class ReasonCounts {
  readonly #counts = new Map<string, number>();

  add(reasons: readonly string[]): void {
    for (const reason of reasons) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  has(isWanted: (reason: string) => boolean): boolean {
    return [...this.#counts.keys()].some(isWanted);
  }

  /** kube-scheduler's format, sorted by text. */
  message(nodeCount: number): string {
    if (nodeCount === 0) return 'no nodes available to schedule pods';
    const parts = [...this.#counts].map(([reason, count]) => `${count} ${reason}`).sort();
    return `0/${nodeCount} nodes are available: ${parts.join(', ')}.`;
  }
}

/** The reason is the pod itself, not any node. */
export function podProblemMessage(nodeCount: number, problem: string): string {
  return `0/${nodeCount} nodes are available: ${problem}.`;
}
