// Where a driver's volumes can be used and what capacity is left there, segment by segment. Pure.

import type { CSIStorageCapacity, Node, PersistentVolume } from '../api/kinds.ts';
import { isQuantity, quantityToBytes } from '../api/quantity.ts';
import { affinityAdmits, labelSelectorOf, matchesLabels } from '../api/selectors.ts';
import { segmentFromLabels } from '../api/topology.ts';
import { attachmentsOf, claimNamed, isReady, podsOf } from '../why/fact-index.ts';
import type { Observation } from './observed.ts';
import type { MapSegment } from './page-messages.ts';

/** Nodes shown in a segment, and segments: more are only counted, or left out. */
const MOST_NODES = 12;
const MOST_SEGMENTS = 24;

interface MapOptions {
  readonly driver: string;
  /** Only the capacity for this class. */
  readonly className?: string | undefined;
  readonly volume?: PersistentVolume;
}

/** Undefined where it is no CSI volume. */
export function volumeMap(
  observation: Observation,
  volume: PersistentVolume | undefined,
): MapSegment[] | undefined {
  const driver = volume?.spec.csi?.driver;
  if (volume === undefined || driver === undefined) return undefined;
  return topologyMap(observation, { driver, className: volume.spec.storageClassName, volume });
}

export function topologyMap(observation: Observation, options: MapOptions): MapSegment[] {
  const { driver, volume } = options;
  const nodesByName = new Map(observation.nodes.map((node) => [node.metadata.name, node]));
  const segments = new Map<string, Node[]>();
  for (const { metadata, spec } of observation.csiNodes) {
    const registered = spec.drivers?.find(({ name }) => name === driver);
    const node = nodesByName.get(metadata.name);
    if (registered === undefined || node === undefined) continue;
    const segment = segmentFromLabels(registered.topologyKeys ?? [], node.metadata.labels);
    if (segment === undefined) continue;
    const label = Object.keys(segment)
      .sort()
      .map((key) => `${key}=${segment[key]}`)
      .join(' ');
    const nodes = segments.get(label);
    if (nodes) nodes.push(node);
    else segments.set(label, [node]);
  }
  const users = volume ? usersByNode(observation, volume) : new Map<string, number>();
  const attached = new Set(
    (volume ? attachmentsOf(observation, volume) : [])
      .filter(({ status }) => status?.attached)
      .map(({ spec }) => spec.nodeName),
  );
  const capacities = capacitiesOf(observation, options);
  return [...segments]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MOST_SEGMENTS)
    .map(([label, nodes]) => ({
      label,
      nodes: nodes
        .map((node) => ({
          name: node.metadata.name,
          isReady: isReady(node),
          isReachable: volume === undefined || affinityAdmits(volume, node),
          isAttached: attached.has(node.metadata.name),
          pods: users.get(node.metadata.name) ?? 0,
        }))
        // Where it is in use comes first: of very many nodes the others are only counted.
        .toSorted(
          (a, b) =>
            b.pods - a.pods || Number(b.isAttached) - Number(a.isAttached) || (a.name < b.name ? -1 : 1),
        )
        .slice(0, MOST_NODES),
      more: Math.max(0, nodes.length - MOST_NODES),
      capacity: capacities
        .filter(({ covers }) => nodes.some(covers))
        .map(({ className, bytes, largestBytes }) => ({
          className,
          bytes,
          ...(largestBytes !== undefined && { largestBytes }),
        })),
    }));
}

function usersByNode(
  observation: Observation,
  { spec: { claimRef } }: PersistentVolume,
): Map<string, number> {
  const claim =
    claimRef?.name && claimNamed(observation, { namespace: claimRef.namespace, name: claimRef.name });
  const users = new Map<string, number>();
  for (const { spec } of claim ? podsOf(observation, claim) : []) {
    if (spec.nodeName) users.set(spec.nodeName, (users.get(spec.nodeName) ?? 0) + 1);
  }
  return users;
}

interface Capacity {
  readonly className: string;
  readonly bytes: number;
  readonly largestBytes: number | undefined;
  covers(node: Node): boolean;
}

function capacitiesOf({ capacities, classes }: Observation, { driver, className }: MapOptions): Capacity[] {
  const ofDriver = new Set(
    classes.filter(({ provisioner }) => provisioner === driver).map(({ metadata }) => metadata.name),
  );
  return capacities
    .filter(
      ({ storageClassName }) =>
        ofDriver.has(storageClassName) && (className === undefined || className === storageClassName),
    )
    .toSorted((a, b) => (a.storageClassName < b.storageClassName ? -1 : 1))
    .map((capacity) => ({
      className: capacity.storageClassName,
      bytes: bytesOf(capacity.capacity) ?? 0,
      largestBytes: bytesOf(capacity.maximumVolumeSize),
      covers: selects(capacity),
    }));
}

const bytesOf = (quantity: string | undefined): number | undefined =>
  quantity !== undefined && isQuantity(quantity) ? Number(quantityToBytes(quantity)) : undefined;

/** A selector that cannot be read covers nothing. */
function selects({ nodeTopology }: CSIStorageCapacity): (node: Node) => boolean {
  try {
    const selector = labelSelectorOf(nodeTopology);
    return ({ metadata }) => matchesLabels(selector, metadata.labels);
  } catch {
    return () => false;
  }
}
