// A conflict between the topology that a driver reports and a label of the Node. Only an administrator knows which is
// right: volumes may have been created for either. Pure.

import type { CSINode, Node } from '../../api/kinds.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { DriverFacts } from './driver-facts.ts';

/** The registration is rejected; the message says what to do. */
class TopologyConflictError extends Error {
  override readonly name = 'TopologyConflictError';
}

/**
 * Labels that Kubernetes and others read (`topology.kubernetes.io/zone`, `kubernetes.io/hostname`) belong to no driver.
 */
const COMMON_LABEL = /(^|\.)(kubernetes|k8s)\.io\//;

export interface LabelConflict {
  key: string;
  value: string;
  current: string;
  /** No other driver in the cluster uses the label. */
  isOwn: boolean;
}

export function labelConflicts(
  facts: DriverFacts,
  node: Node,
  csiNode: CSINode | undefined,
): LabelConflict[] {
  const others = (csiNode?.spec?.drivers ?? []).filter(({ name }) => name !== facts.name);
  return Object.entries(facts.segments).flatMap(([key, value]) => {
    const current = node.metadata.labels?.[key];
    if (current === undefined || current === value) return [];
    const isOwn = !COMMON_LABEL.test(key) && !others.some(({ topologyKeys }) => topologyKeys?.includes(key));
    return [{ key, value, current, isOwn }];
  });
}

export function conflictError(
  driver: DriverName,
  nodeName: string,
  { key, value, current, isOwn }: LabelConflict,
): TopologyConflictError {
  const replace = isOwn ? ', or start the node with --replace-topology-labels' : '';
  return new TopologyConflictError(
    `driver ${driver} says that this node is at ${key}=${value}, but Node ${nodeName} has the label ${key}=${current}. ` +
      `If the driver is right, remove the label (kubectl label node ${nodeName} ${key}-)${replace}: volumes that were ` +
      `made for ${key}=${current} can then not be used here. If the label is right, correct the driver. ` +
      'The driver is registered as soon as they agree',
  );
}
