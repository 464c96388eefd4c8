// A driver says that the node is somewhere else than a label of the Node says. Which of the two is right only a human
// knows: volumes may have been made for either. Pure.

import type { CSINode, Node } from '../../api/kinds.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { DriverFacts } from './driver-facts.ts';

/** The registration is refused; the message says what to do about it. */
export class TopologyConflictError extends Error {
  override readonly name = 'TopologyConflictError';
}

/** What Kubernetes itself and others read (`topology.kubernetes.io/zone`, `kubernetes.io/hostname`) is no driver's own. */
const COMMON_LABEL = /(^|\.)(kubernetes|k8s)\.io\//;

export interface LabelConflict {
  key: string;
  value: string;
  current: string;
  /** Nobody but this driver uses the label, as far as the cluster knows. */
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
