// What a driver's registration changes in shared objects, as pure functions from the object to its next version: the
// driver's own entry is replaced whole or removed, those of others stay as they are.

import type { CSINode, CSINodeDriver, CSINodeInfo, Node } from '../../api/kinds.ts';
import type { OwnerReference } from '../../api/object.ts';
import { nodeIdsOf } from '../../api/volumes.ts';
import { ANN_CSI_NODE_ID } from '../../api/well-known.ts';

export interface DriverFacts {
  name: string;
  nodeId: string;
  /** Empty without topology. */
  segments: Readonly<Record<string, string>>;
  /** 0: no limit. */
  maxVolumes: number;
}

/** A label of the node says something else than the driver does. */
export class TopologyConflictError extends Error {
  override readonly name = 'TopologyConflictError';
}

/** The Node patch, or undefined when all is as it should be. Labels of a driver that goes stay. */
export function nodePatch(node: Node, driver: string, facts: DriverFacts | undefined): object | undefined {
  const ids = nodeIdsOf(node);
  const before = JSON.stringify(ids[driver]);
  if (facts) ids[driver] = facts.nodeId;
  else delete ids[driver];
  const annotations =
    before === JSON.stringify(ids[driver])
      ? undefined
      : { [ANN_CSI_NODE_ID]: Object.keys(ids).length === 0 ? null : JSON.stringify(ids) };
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(facts?.segments ?? {})) {
    const current = node.metadata.labels?.[key];
    if (current !== undefined && current !== value) {
      throw new TopologyConflictError(
        `driver ${driver} says that this node is at ${key}=${value}, but Node ${node.metadata.name} has the label ` +
          `${key}=${current}; remove the label if the driver is right`,
      );
    }
    if (current === undefined) labels[key] = value;
  }
  const hasLabels = Object.keys(labels).length > 0;
  if (annotations === undefined && !hasLabels) return undefined;
  return {
    metadata: {
      resourceVersion: node.metadata.resourceVersion,
      ...(annotations && { annotations }),
      ...(hasLabels && { labels }),
    },
  };
}

export function csiNodeEntry(facts: DriverFacts): CSINodeDriver {
  return {
    name: facts.name,
    nodeID: facts.nodeId,
    topologyKeys: Object.keys(facts.segments).sort(),
    ...(facts.maxVolumes > 0 && { allocatable: { count: facts.maxVolumes } }),
  };
}

/**
 * Undefined when it is so already. Of an entry only the count can change in place, so one that differs otherwise goes
 * first (`last` is false).
 */
export function nextCSINode(
  current: CSINode,
  driver: string,
  facts: DriverFacts | undefined,
  owner: OwnerReference,
): { object: CSINode; last: boolean } | undefined {
  const drivers = current.spec?.drivers ?? [];
  const present = drivers.find((entry) => entry.name === driver);
  const others = drivers.filter((entry) => entry.name !== driver);
  const wanted = facts && csiNodeEntry(facts);
  const isOwned = (current.metadata.ownerReferences ?? []).some((each) => each.uid === owner.uid);
  if (isOwned && sameEntry(present, wanted)) return undefined;
  const changes =
    present !== undefined && wanted !== undefined && !sameEntry(withoutCount(present), withoutCount(wanted));
  const next = changes ? others : wanted ? [...others, wanted] : others;
  return {
    object: {
      ...current,
      metadata: { ...current.metadata, ownerReferences: [owner] },
      spec: { ...current.spec, drivers: next },
    },
    last: !changes,
  };
}

function withoutCount({ allocatable: _count, ...rest }: CSINodeDriver): CSINodeDriver {
  return rest;
}

function sameEntry(a: CSINodeDriver | undefined, b: CSINodeDriver | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const text = ({ name, nodeID, topologyKeys, allocatable }: CSINodeDriver) =>
    JSON.stringify([name, nodeID, [...(topologyKeys ?? [])].sort(), allocatable?.count ?? null]);
  return text(a) === text(b);
}

/** The entries of CSINodeInfo after these changes; undefined when nothing changes. */
export function nextNodeInfoDrivers(
  current: CSINodeInfo['csiDrivers'],
  changes: ReadonlyMap<string, DriverFacts | undefined>,
): NonNullable<CSINodeInfo['csiDrivers']> | undefined {
  const entries = current ?? [];
  const next = entries.filter(({ name }) => !changes.has(name));
  for (const [name, facts] of changes) {
    if (facts) next.push({ name, nodeID: facts.nodeId, topologyKeys: Object.keys(facts.segments).sort() });
  }
  const text = (list: typeof entries) =>
    JSON.stringify(
      [...list].sort((a, b) => (a.name < b.name ? -1 : 1)).map((e) => [e.name, e.nodeID, e.topologyKeys]),
    );
  return text(entries) === text(next) ? undefined : next;
}

export function nodeOwner(node: Node): OwnerReference {
  return { apiVersion: 'v1', kind: 'Node', name: node.metadata.name, uid: node.metadata.uid };
}
