// The rows of nodes, drivers, classes, snapshots and their groups. Pure.

import { isDefaultClass } from '../api/default-class.ts';
import type { CSINode } from '../api/kinds.ts';
import { keyOf } from '../api/object.ts';
import { claimNameOf, isTerminated } from '../api/volumes.ts';
import type { NodeId } from '../csi/names/driver-name.ts';
import { isReady } from '../why/fact-index.ts';
import type { Facts } from '../why/facts.ts';
import { type Judgement, WELL } from './judgement.ts';
import type { Observation } from './observed.ts';
import type { ClassRow, DriverRow, GroupRow, NodeRow, SnapshotRow } from './page-messages.ts';

export function nodeRows(facts: Facts, judgement: Judgement): NodeRow[] {
  const registered = new Map(facts.csiNodes.map((node) => [node.metadata.name, node]));
  const attached = attachedByNodeAndDriver(facts);
  const podsOf = new Map<string, number>();
  for (const pod of facts.pods) {
    const { nodeName, volumes = [] } = pod.spec;
    const uses = volumes.some((volume) => volume.csi || claimNameOf(pod, volume) !== undefined);
    if (nodeName && uses && !isTerminated(pod)) podsOf.set(nodeName, (podsOf.get(nodeName) ?? 0) + 1);
  }
  return facts.nodes.map((node) => {
    const { name, labels = {} } = node.metadata;
    return {
      id: name,
      name,
      ...judgement.of('node', node),
      isReady: isReady(node),
      drivers: driversOf(registered.get(name)).map((driver) => ({
        name: driver.name,
        nodeId: driver.nodeID as NodeId,
        topology: Object.fromEntries(
          (driver.topologyKeys ?? []).flatMap((key) => (key in labels ? [[key, labels[key] ?? '']] : [])),
        ),
        ...(driver.allocatable?.count !== undefined && { limit: driver.allocatable.count }),
        attached: attached.get(`${name} ${driver.name}`) ?? 0,
      })),
      pods: podsOf.get(name) ?? 0,
    };
  });
}

export function driverRows(facts: Facts, judgement: Judgement): DriverRow[] {
  const volumes = new Map<string, number>();
  for (const { spec } of facts.volumes) {
    if (spec.csi) volumes.set(spec.csi.driver, (volumes.get(spec.csi.driver) ?? 0) + 1);
  }
  const registrations = facts.csiNodes.flatMap((node) => driversOf(node).map(({ name }) => name));
  const objects = new Map(facts.drivers.map((driver) => [driver.metadata.name, driver]));
  // A driver may do without an object of its own: then it is known by its nodes and volumes alone.
  const names = new Set([...objects.keys(), ...registrations, ...volumes.keys()]);
  return [...names].sort().map((name) => {
    const object = objects.get(name);
    const spec = object?.spec;
    return {
      id: name,
      name,
      ...(object ? judgement.of('driver', object) : WELL),
      attachRequired: spec?.attachRequired ?? true,
      podInfoOnMount: spec?.podInfoOnMount ?? false,
      storageCapacity: spec?.storageCapacity ?? false,
      modes: spec?.volumeLifecycleModes ?? ['Persistent'],
      fsGroupPolicy: spec?.fsGroupPolicy ?? 'ReadWriteOnceWithFSType',
      volumes: volumes.get(name) ?? 0,
      nodes: registrations.filter((one) => one === name).length,
    };
  });
}

export function classRows({ classes }: Facts, judgement: Judgement): ClassRow[] {
  return classes.map((each) => ({
    id: each.metadata.name,
    name: each.metadata.name,
    ...judgement.of('class', each),
    driver: each.provisioner,
    isDefault: isDefaultClass(each),
    bindingMode: each.volumeBindingMode ?? 'Immediate',
    reclaimPolicy: each.reclaimPolicy ?? 'Delete',
    canExpand: each.allowVolumeExpansion ?? false,
  }));
}

export function snapshotRows({ snapshots }: Observation, judgement: Judgement): SnapshotRow[] {
  return snapshots.map((snapshot) => {
    const { metadata, spec, status } = snapshot;
    const claim = spec.source.persistentVolumeClaimName;
    const group = status?.volumeGroupSnapshotName;
    return {
      id: keyOf(snapshot),
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      ...judgement.of('snapshot', snapshot),
      isReady: status?.readyToUse === true,
      isGoing: metadata.deletionTimestamp !== undefined,
      createdMs: Date.parse(metadata.creationTimestamp),
      ...(claim !== undefined && { claim }),
      ...(group !== undefined && { group }),
      ...(status?.restoreSize !== undefined && { size: status.restoreSize }),
    };
  });
}

export function groupRows({ groups, snapshots }: Observation, judgement: Judgement): GroupRow[] {
  return groups.map((group) => {
    const { metadata, status } = group;
    return {
      id: keyOf(group),
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      ...judgement.of('group', group),
      isReady: status?.readyToUse === true,
      isGoing: metadata.deletionTimestamp !== undefined,
      createdMs: Date.parse(metadata.creationTimestamp),
      snapshots: snapshots.filter(
        (each) =>
          each.metadata.namespace === metadata.namespace &&
          each.status?.volumeGroupSnapshotName === metadata.name,
      ).length,
    };
  });
}

function driversOf(node: CSINode | undefined): CSINode['spec']['drivers'] {
  return node?.spec.drivers ?? [];
}

function attachedByNodeAndDriver({ attachments }: Facts): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { spec, status } of attachments) {
    if (status?.attached !== true) continue;
    const key = `${spec.nodeName} ${spec.attacher}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
