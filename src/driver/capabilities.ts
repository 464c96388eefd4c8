// The capabilities that a driver reports, derived from its definition: one list for each of the three services. Pure.

import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  PluginCapability_VolumeExpansion_Type as Expansion,
  GroupControllerServiceCapability_RPC_Type as GroupRpc,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
  type VolumeCapability,
} from '../csi/index.ts';
import type { ControllerOperations, Driver, DriverFeatures, NodeOperations } from './driver.ts';

type Rule<Operations, Capability> = readonly [
  capability: Capability,
  has: (operations: Operations, features: DriverFeatures) => unknown,
];

const controllerRules: readonly Rule<ControllerOperations, ControllerRpc>[] = [
  [ControllerRpc.CREATE_DELETE_VOLUME, (has) => has.createVolume],
  [ControllerRpc.PUBLISH_UNPUBLISH_VOLUME, (has) => has.controllerPublishVolume],
  [ControllerRpc.LIST_VOLUMES, (has) => has.listVolumes],
  [ControllerRpc.GET_CAPACITY, (has) => has.getCapacity],
  [ControllerRpc.CREATE_DELETE_SNAPSHOT, (has) => has.createSnapshot],
  [ControllerRpc.LIST_SNAPSHOTS, (has) => has.listSnapshots],
  [ControllerRpc.CLONE_VOLUME, (has, claims) => has.createVolume && claims.cloneVolume],
  [ControllerRpc.PUBLISH_READONLY, (has, claims) => has.controllerPublishVolume && claims.publishReadOnly],
  [ControllerRpc.EXPAND_VOLUME, (has) => has.controllerExpandVolume],
  [
    ControllerRpc.LIST_VOLUMES_PUBLISHED_NODES,
    (has, claims) => has.listVolumes && has.controllerPublishVolume && claims.publishedNodes,
  ],
  [
    ControllerRpc.VOLUME_CONDITION,
    (has, claims) => (has.listVolumes || has.controllerGetVolume) && claims.volumeCondition,
  ],
  [ControllerRpc.GET_VOLUME, (has) => has.controllerGetVolume],
  [ControllerRpc.SINGLE_NODE_MULTI_WRITER, (_, claims) => claims.singleNodeMultiWriter],
  [ControllerRpc.MODIFY_VOLUME, (has) => has.controllerModifyVolume],
  [ControllerRpc.GET_SNAPSHOT, (has) => has.getSnapshot],
];

const nodeRules: readonly Rule<NodeOperations, NodeRpc>[] = [
  [NodeRpc.STAGE_UNSTAGE_VOLUME, (has) => has.nodeStageVolume],
  [NodeRpc.GET_VOLUME_STATS, (has) => has.nodeGetVolumeStats],
  [NodeRpc.EXPAND_VOLUME, (has) => has.nodeExpandVolume],
  [NodeRpc.VOLUME_CONDITION, (has, claims) => has.nodeGetVolumeStats && claims.volumeCondition],
  [NodeRpc.SINGLE_NODE_MULTI_WRITER, (_, claims) => claims.singleNodeMultiWriter],
  [NodeRpc.VOLUME_MOUNT_GROUP, (_, claims) => claims.volumeMountGroup],
];

export function controllerCapabilities(driver: Driver): ControllerRpc[] {
  return derive(controllerRules, driver.controller, driver.features);
}

export function nodeCapabilities(driver: Driver): NodeRpc[] {
  return derive(nodeRules, driver.node, driver.features);
}

export function groupControllerCapabilities(driver: Driver): GroupRpc[] {
  return driver.groupController ? [GroupRpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT] : [];
}

export function pluginServices(driver: Driver): PluginService[] {
  return [
    ...(driver.controller ? [PluginService.CONTROLLER_SERVICE] : []),
    ...(driver.features?.topology ? [PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS] : []),
    ...(driver.groupController ? [PluginService.GROUP_CONTROLLER_SERVICE] : []),
    ...(driver.snapshotMetadata ? [PluginService.SNAPSHOT_METADATA_SERVICE] : []),
  ];
}

export function volumeExpansion(driver: Driver): Expansion | undefined {
  if (!driver.controller?.controllerExpandVolume && !driver.node?.nodeExpandVolume) return undefined;
  return driver.features?.expansion === 'offline' ? Expansion.OFFLINE : Expansion.ONLINE;
}

function derive<Operations, Capability>(
  rules: readonly Rule<Operations, Capability>[],
  operations: Operations | undefined,
  features: DriverFeatures = {},
): Capability[] {
  if (operations === undefined) return [];
  return rules.filter(([, has]) => has(operations, features)).map(([capability]) => capability);
}

const multiWriterModes = new Set<Mode>([Mode.SINGLE_NODE_SINGLE_WRITER, Mode.SINGLE_NODE_MULTI_WRITER]);

/** Why volumes of this driver cannot have the capability; undefined if they can. */
export function unsupported(driver: Driver, capability: VolumeCapability): string | undefined {
  const accessTypes = driver.accessTypes ?? ['mount'];
  const type = capability.accessType;
  if (type.case !== undefined && !accessTypes.includes(type.case)) {
    return `access type ${type.case} is not supported, only ${accessTypes.join(' and ')}`;
  }
  const mode = capability.accessMode?.mode ?? Mode.UNKNOWN;
  const name = accessModeName(mode);
  if (driver.accessModes && !(driver.accessModes as readonly string[]).includes(name)) {
    return `access mode ${name} is not supported, only ${driver.accessModes.join(', ')}`;
  }
  if (multiWriterModes.has(mode) && !driver.features?.singleNodeMultiWriter) {
    return `access mode ${name} needs the capability SINGLE_NODE_MULTI_WRITER, which this driver does not have`;
  }
  if (type.case === 'mount' && type.value.volumeMountGroup !== '' && !driver.features?.volumeMountGroup) {
    return 'volume_mount_group needs the capability VOLUME_MOUNT_GROUP, which this driver does not have';
  }
  return undefined;
}

export function accessModeName(mode: Mode): string {
  return Object.entries(Mode).find(([, value]) => value === mode)?.[0] ?? String(mode);
}
