// The entries of this node's drivers in shared objects, as pure functions from an object to its next version: the entry
// of a registered driver has its reported values, that of a driver that is gone is removed, others stay.

import type { CSINode, CSINodeDriver, CSINodeInfo, Node } from '../../api/kinds.ts';
import type { OwnerReference } from '../../api/object.ts';
import { nodeIdsOf } from '../../api/volumes.ts';
import { ANN_CSI_NODE_ID } from '../../api/well-known.ts';
import type { DriverName, NodeId } from '../../csi/names/driver-name.ts';

export interface DriverFacts {
  name: DriverName;
  nodeId: NodeId;
  /** Empty without topology. */
  segments: Readonly<Record<string, string>>;
  /** 0: no limit. */
  maxVolumes: number;
}

export interface NodeDrivers {
  registered: ReadonlyMap<string, DriverFacts>;
  /** For drivers that are not registered: whether their entries are removed. */
  isGone(driver: DriverName): boolean;
}

/** The Node patch, or undefined without changes. Labels of a removed driver stay: others may use them. */
export function nodePatch(node: Node, drivers: NodeDrivers): object | undefined {
  const before = nodeIdsOf(node);
  const ids = Object.fromEntries(
    keep(Object.entries(before), ([name]) => name, drivers).concat(
      [...drivers.registered.values()].map(({ name, nodeId }) => [name, nodeId]),
    ),
  );
  const annotations = sameMap(before, ids)
    ? undefined
    : { [ANN_CSI_NODE_ID]: Object.keys(ids).length === 0 ? null : JSON.stringify(ids) };
  const labels: Record<string, string> = {};
  for (const { segments } of drivers.registered.values()) {
    for (const [key, value] of Object.entries(segments)) {
      // A label with another value was set by an administrator, after the warning at registration.
      if (node.metadata.labels?.[key] === undefined) labels[key] = value;
    }
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
 * Undefined without changes. Only the count of an entry is mutable, so an entry that differs otherwise is removed first
 * (`last` is false).
 */
export function nextCSINode(
  current: CSINode,
  drivers: NodeDrivers,
  owner: OwnerReference,
): { object: CSINode; last: boolean } | undefined {
  const present = current.spec?.drivers ?? [];
  const wanted = [...drivers.registered.values()].map(csiNodeEntry);
  const others = keep(present, ({ name }) => name, drivers);
  const inTheWay = new Set<string>();
  for (const entry of present) {
    const next = wanted.find(({ name }) => name === entry.name);
    if (next && !sameEntry(withoutCount(entry), withoutCount(next))) inTheWay.add(entry.name);
  }
  const isOwned = (current.metadata.ownerReferences ?? []).some((each) => each.uid === owner.uid);
  const isSame =
    others.length + wanted.length === present.length &&
    wanted.every((entry) =>
      sameEntry(
        present.find(({ name }) => name === entry.name),
        entry,
      ),
    );
  if (isOwned && isSame) return undefined;
  return {
    object: {
      ...current,
      metadata: { ...current.metadata, ownerReferences: [owner] },
      spec: {
        ...current.spec,
        drivers: [...others, ...wanted.filter(({ name }) => !inTheWay.has(name))],
      },
    },
    last: inTheWay.size === 0,
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

/** The wanted entries of CSINodeInfo; undefined without changes. */
export function nextNodeInfoDrivers(
  current: CSINodeInfo['csiDrivers'],
  drivers: NodeDrivers,
): NonNullable<CSINodeInfo['csiDrivers']> | undefined {
  const entries = current ?? [];
  const next = keep(entries, ({ name }) => name, drivers);
  for (const { name, nodeId, segments } of drivers.registered.values()) {
    next.push({ name, nodeID: nodeId, topologyKeys: Object.keys(segments).sort() });
  }
  const text = (list: typeof entries) =>
    JSON.stringify(
      [...list].sort((a, b) => (a.name < b.name ? -1 : 1)).map((e) => [e.name, e.nodeID, e.topologyKeys]),
    );
  return text(entries) === text(next) ? undefined : next;
}

/** The unchanged entries of other drivers. */
function keep<T>(entries: readonly T[], nameOf: (entry: T) => string, drivers: NodeDrivers): T[] {
  return entries.filter((entry) => {
    const name = nameOf(entry);
    return !drivers.registered.has(name) && !drivers.isGone(name as DriverName);
  });
}

function sameMap(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

export function nodeOwner(node: Node): OwnerReference {
  return { apiVersion: 'v1', kind: 'Node', name: node.metadata.name, uid: node.metadata.uid };
}
