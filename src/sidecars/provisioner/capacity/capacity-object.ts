// One CSIStorageCapacity: the free capacity of one class in one topology segment. Its name is derived from class and
// segment, so that publishing it twice creates one object. Pure.

import { hash } from 'node:crypto';
import type { CSIStorageCapacity, OwnerReference } from '../../../api/index.ts';
import type { Draft } from '../../../api/object.ts';
import { formatQuantity, quantityFromBytes, quantityToBytes } from '../../../api/quantity.ts';
import { type Segment, segmentText } from '../../../api/topology.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';
import type { FreeCapacity } from '../claims/volume-calls.ts';

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

export interface CapacityOwner {
  driver: DriverName;
  managedBy: string;
  namespace: string;
  reference: OwnerReference | undefined;
}

export function capacityObject(
  place: CapacityPlace,
  free: FreeCapacity,
  owner: CapacityOwner,
): Draft<CSIStorageCapacity> {
  const id = hash('sha256', JSON.stringify([owner.driver, owner.managedBy, placeKey(place)])).slice(0, 16);
  return {
    metadata: {
      name: `csisc-${id}`,
      namespace: owner.namespace,
      labels: { [LABEL_DRIVER]: owner.driver, [LABEL_MANAGED_BY]: owner.managedBy },
      ...(owner.reference && { ownerReferences: [owner.reference] }),
    },
    storageClassName: place.className,
    nodeTopology: { matchLabels: { ...place.segment } },
    ...amounts(free),
  };
}

/** The object as it should be; the same object when it is up to date. */
export function withCapacity(
  object: CSIStorageCapacity,
  free: FreeCapacity,
  { reference }: CapacityOwner,
): CSIStorageCapacity {
  const { maximumVolumeSize: _old, ...rest } = object;
  const owners = object.metadata.ownerReferences ?? [];
  const isOwned = !reference || owners.some(({ uid }) => uid === reference.uid);
  const bytes = (text: string | undefined) => (text === undefined ? undefined : quantityToBytes(text));
  const isCurrent =
    bytes(object.capacity) === free.availableCapacity &&
    bytes(object.maximumVolumeSize) === free.maximumVolumeSize;
  if (isOwned && isCurrent) return object;
  const ownerReferences = isOwned ? owners : [...owners, reference];
  return { ...rest, metadata: { ...object.metadata, ownerReferences }, ...amounts(free) };
}

function amounts({ availableCapacity, maximumVolumeSize }: FreeCapacity) {
  const text = (bytes: bigint) => formatQuantity(quantityFromBytes(bytes));
  return {
    capacity: text(availableCapacity),
    ...(maximumVolumeSize !== undefined && { maximumVolumeSize: text(maximumVolumeSize) }),
  };
}
