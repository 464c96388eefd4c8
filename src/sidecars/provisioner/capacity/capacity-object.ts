// One CSIStorageCapacity: the free capacity of one class in one topology segment. Its name is derived from class and
// segment, so that publishing it twice creates one object. Pure.

import { createHash } from 'node:crypto';
import type { CSIStorageCapacity, OwnerReference } from '../../../api/index.ts';
import type { Draft } from '../../../api/object.ts';
import { formatQuantity, quantityFromBytes, quantityToBytes } from '../../../api/quantity.ts';
import { type Segment, segmentText } from '../../../api/topology.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';

export const LABEL_DRIVER = 'csi.storage.k8s.io/drivername';
export const LABEL_MANAGED_BY = 'csi.storage.k8s.io/managed-by';

export interface CapacityPlace {
  className: string;
  /** Empty where the driver has no topology: it then stands for the whole cluster. */
  segment: Segment;
}

/** The key of a class and segment in queues and indexes. */
export function placeKey({ className, segment }: CapacityPlace): string {
  return `${className}|${segmentText(segment)}`;
}

/** The class and segment of an object; undefined when no provisioner wrote it. */
export function placeOf(object: CSIStorageCapacity): CapacityPlace | undefined {
  const { nodeTopology, storageClassName } = object;
  if (!nodeTopology || nodeTopology.matchExpressions?.length) return undefined;
  return { className: storageClassName, segment: nodeTopology.matchLabels ?? {} };
}

export interface Room {
  availableBytes: bigint;
  maximumVolumeBytes: bigint | undefined;
}

export interface CapacityOwner {
  driver: DriverName;
  managedBy: string;
  namespace: string;
  reference: OwnerReference | undefined;
}

export function capacityObject(
  place: CapacityPlace,
  room: Room,
  owner: CapacityOwner,
): Draft<CSIStorageCapacity> {
  const id = createHash('sha256')
    .update(JSON.stringify([owner.driver, owner.managedBy, placeKey(place)]))
    .digest('hex')
    .slice(0, 16);
  return {
    metadata: {
      name: `csisc-${id}`,
      namespace: owner.namespace,
      labels: { [LABEL_DRIVER]: owner.driver, [LABEL_MANAGED_BY]: owner.managedBy },
      ...(owner.reference && { ownerReferences: [owner.reference] }),
    },
    storageClassName: place.className,
    nodeTopology: { matchLabels: { ...place.segment } },
    ...amounts(room),
  };
}

export function amounts(room: Room): { capacity: string; maximumVolumeSize?: string } {
  const text = (bytes: bigint) => formatQuantity(quantityFromBytes(bytes));
  return {
    capacity: text(room.availableBytes),
    ...(room.maximumVolumeBytes !== undefined && { maximumVolumeSize: text(room.maximumVolumeBytes) }),
  };
}

/** Whether the object is up to date. */
export function isCurrent(
  object: CSIStorageCapacity,
  room: Room,
  reference: OwnerReference | undefined,
): boolean {
  const bytes = (text: string | undefined) => (text === undefined ? undefined : quantityToBytes(text));
  return (
    bytes(object.capacity) === room.availableBytes &&
    bytes(object.maximumVolumeSize) === room.maximumVolumeBytes &&
    (reference === undefined ||
      (object.metadata.ownerReferences?.some((each) => each.uid === reference.uid) ?? false))
  );
}
