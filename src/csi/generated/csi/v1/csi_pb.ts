// Generated from proto/csi/v1/csi.proto by scripts/generate-proto.ts.

import type { DescMessage, Message, UnknownEnum } from '../../../../wire/protobuf/descriptor.ts';
import { protoFile } from '../../../../wire/protobuf/proto-file.ts';
import { type Timestamp, wellKnown } from '../../../../wire/protobuf/well-known.ts';

const file = protoFile('csi.v1', wellKnown);

export const BlockMetadataType = file.enumeration('BlockMetadataType', {
  UNKNOWN: 0,
  FIXED_LENGTH: 1,
  VARIABLE_LENGTH: 2,
});
export type BlockMetadataType = (typeof BlockMetadataType)[keyof typeof BlockMetadataType] | UnknownEnum;

export type Volume = Message<'csi.v1.Volume'> & {
  capacityBytes: bigint;
  volumeId: string;
  volumeContext: { [key: string]: string };
  contentSource?: VolumeContentSource | undefined;
  accessibleTopology: Topology[];
};
export const VolumeSchema: DescMessage<Volume> = file.message('Volume', `
  1 capacity_bytes int64
  2 volume_id string
  3 volume_context map
  4 content_source VolumeContentSource
  5 accessible_topology repeated Topology
`);

export type VolumeContentSource_SnapshotSource = Message<'csi.v1.VolumeContentSource.SnapshotSource'> & {
  snapshotId: string;
};
export const VolumeContentSource_SnapshotSourceSchema: DescMessage<VolumeContentSource_SnapshotSource> = file.message('VolumeContentSource.SnapshotSource', `
  1 snapshot_id string
`);

export type VolumeContentSource_VolumeSource = Message<'csi.v1.VolumeContentSource.VolumeSource'> & {
  volumeId: string;
};
export const VolumeContentSource_VolumeSourceSchema: DescMessage<VolumeContentSource_VolumeSource> = file.message('VolumeContentSource.VolumeSource', `
  1 volume_id string
`);

export type VolumeContentSource = Message<'csi.v1.VolumeContentSource'> & {
  type:
    | { case: 'snapshot'; value: VolumeContentSource_SnapshotSource }
    | { case: 'volume'; value: VolumeContentSource_VolumeSource }
    | { case: undefined; value?: undefined };
};
export const VolumeContentSourceSchema: DescMessage<VolumeContentSource> = file.message('VolumeContentSource', `
  1 snapshot VolumeContentSource.SnapshotSource of type
  2 volume VolumeContentSource.VolumeSource of type
`);

export type VolumeCapability_BlockVolume = Message<'csi.v1.VolumeCapability.BlockVolume'> & {};
export const VolumeCapability_BlockVolumeSchema: DescMessage<VolumeCapability_BlockVolume> = file.message('VolumeCapability.BlockVolume', '');

export type VolumeCapability_MountVolume = Message<'csi.v1.VolumeCapability.MountVolume'> & {
  fsType: string;
  mountFlags: string[];
  volumeMountGroup: string;
};
export const VolumeCapability_MountVolumeSchema: DescMessage<VolumeCapability_MountVolume> = file.message('VolumeCapability.MountVolume', `
  1 fs_type string
  2 mount_flags repeated string
  3 volume_mount_group string
`);

export const VolumeCapability_AccessMode_Mode = file.enumeration('VolumeCapability.AccessMode.Mode', {
  UNKNOWN: 0,
  SINGLE_NODE_WRITER: 1,
  SINGLE_NODE_READER_ONLY: 2,
  MULTI_NODE_READER_ONLY: 3,
  MULTI_NODE_SINGLE_WRITER: 4,
  MULTI_NODE_MULTI_WRITER: 5,
  SINGLE_NODE_SINGLE_WRITER: 6,
  SINGLE_NODE_MULTI_WRITER: 7,
});
export type VolumeCapability_AccessMode_Mode = (typeof VolumeCapability_AccessMode_Mode)[keyof typeof VolumeCapability_AccessMode_Mode] | UnknownEnum;

export type VolumeCapability_AccessMode = Message<'csi.v1.VolumeCapability.AccessMode'> & {
  mode: VolumeCapability_AccessMode_Mode;
};
export const VolumeCapability_AccessModeSchema: DescMessage<VolumeCapability_AccessMode> = file.message('VolumeCapability.AccessMode', `
  1 mode VolumeCapability.AccessMode.Mode
`);

export type VolumeCapability = Message<'csi.v1.VolumeCapability'> & {
  accessType:
    | { case: 'block'; value: VolumeCapability_BlockVolume }
    | { case: 'mount'; value: VolumeCapability_MountVolume }
    | { case: undefined; value?: undefined };
  accessMode?: VolumeCapability_AccessMode | undefined;
};
export const VolumeCapabilitySchema: DescMessage<VolumeCapability> = file.message('VolumeCapability', `
  1 block VolumeCapability.BlockVolume of access_type
  2 mount VolumeCapability.MountVolume of access_type
  3 access_mode VolumeCapability.AccessMode
`);

export type CapacityRange = Message<'csi.v1.CapacityRange'> & {
  requiredBytes: bigint;
  limitBytes: bigint;
};
export const CapacityRangeSchema: DescMessage<CapacityRange> = file.message('CapacityRange', `
  1 required_bytes int64
  2 limit_bytes int64
`);

export type Topology = Message<'csi.v1.Topology'> & {
  segments: { [key: string]: string };
};
export const TopologySchema: DescMessage<Topology> = file.message('Topology', `
  1 segments map
`);

export type TopologyRequirement = Message<'csi.v1.TopologyRequirement'> & {
  requisite: Topology[];
  preferred: Topology[];
};
export const TopologyRequirementSchema: DescMessage<TopologyRequirement> = file.message('TopologyRequirement', `
  1 requisite repeated Topology
  2 preferred repeated Topology
`);

export type VolumeCondition = Message<'csi.v1.VolumeCondition'> & {
  abnormal: boolean;
  message: string;
};
export const VolumeConditionSchema: DescMessage<VolumeCondition> = file.message('VolumeCondition', `
  1 abnormal bool
  2 message string
`);

export type Snapshot = Message<'csi.v1.Snapshot'> & {
  sizeBytes: bigint;
  snapshotId: string;
  sourceVolumeId: string;
  creationTime?: Timestamp | undefined;
  readyToUse: boolean;
  groupSnapshotId: string;
};
export const SnapshotSchema: DescMessage<Snapshot> = file.message('Snapshot', `
  1 size_bytes int64
  2 snapshot_id string
  3 source_volume_id string
  4 creation_time google.protobuf.Timestamp
  5 ready_to_use bool
  6 group_snapshot_id string
`);

export type GetPluginInfoRequest = Message<'csi.v1.GetPluginInfoRequest'> & {};
export const GetPluginInfoRequestSchema: DescMessage<GetPluginInfoRequest> = file.message('GetPluginInfoRequest', '');

export type GetPluginInfoResponse = Message<'csi.v1.GetPluginInfoResponse'> & {
  name: string;
  vendorVersion: string;
  manifest: { [key: string]: string };
};
export const GetPluginInfoResponseSchema: DescMessage<GetPluginInfoResponse> = file.message('GetPluginInfoResponse', `
  1 name string
  2 vendor_version string
  3 manifest map
`);

export type GetPluginCapabilitiesRequest = Message<'csi.v1.GetPluginCapabilitiesRequest'> & {};
export const GetPluginCapabilitiesRequestSchema: DescMessage<GetPluginCapabilitiesRequest> = file.message('GetPluginCapabilitiesRequest', '');

export type GetPluginCapabilitiesResponse = Message<'csi.v1.GetPluginCapabilitiesResponse'> & {
  capabilities: PluginCapability[];
};
export const GetPluginCapabilitiesResponseSchema: DescMessage<GetPluginCapabilitiesResponse> = file.message('GetPluginCapabilitiesResponse', `
  1 capabilities repeated PluginCapability
`);

export const PluginCapability_Service_Type = file.enumeration('PluginCapability.Service.Type', {
  UNKNOWN: 0,
  CONTROLLER_SERVICE: 1,
  VOLUME_ACCESSIBILITY_CONSTRAINTS: 2,
  GROUP_CONTROLLER_SERVICE: 3,
  SNAPSHOT_METADATA_SERVICE: 4,
});
export type PluginCapability_Service_Type = (typeof PluginCapability_Service_Type)[keyof typeof PluginCapability_Service_Type] | UnknownEnum;

export type PluginCapability_Service = Message<'csi.v1.PluginCapability.Service'> & {
  type: PluginCapability_Service_Type;
};
export const PluginCapability_ServiceSchema: DescMessage<PluginCapability_Service> = file.message('PluginCapability.Service', `
  1 type PluginCapability.Service.Type
`);

export const PluginCapability_VolumeExpansion_Type = file.enumeration('PluginCapability.VolumeExpansion.Type', {
  UNKNOWN: 0,
  ONLINE: 1,
  OFFLINE: 2,
});
export type PluginCapability_VolumeExpansion_Type = (typeof PluginCapability_VolumeExpansion_Type)[keyof typeof PluginCapability_VolumeExpansion_Type] | UnknownEnum;

export type PluginCapability_VolumeExpansion = Message<'csi.v1.PluginCapability.VolumeExpansion'> & {
  type: PluginCapability_VolumeExpansion_Type;
};
export const PluginCapability_VolumeExpansionSchema: DescMessage<PluginCapability_VolumeExpansion> = file.message('PluginCapability.VolumeExpansion', `
  1 type PluginCapability.VolumeExpansion.Type
`);

export type PluginCapability = Message<'csi.v1.PluginCapability'> & {
  type:
    | { case: 'service'; value: PluginCapability_Service }
    | { case: 'volumeExpansion'; value: PluginCapability_VolumeExpansion }
    | { case: undefined; value?: undefined };
};
export const PluginCapabilitySchema: DescMessage<PluginCapability> = file.message('PluginCapability', `
  1 service PluginCapability.Service of type
  2 volume_expansion PluginCapability.VolumeExpansion of type
`);

export type ProbeRequest = Message<'csi.v1.ProbeRequest'> & {};
export const ProbeRequestSchema: DescMessage<ProbeRequest> = file.message('ProbeRequest', '');

export type ProbeResponse = Message<'csi.v1.ProbeResponse'> & {
  ready?: boolean | undefined;
};
export const ProbeResponseSchema: DescMessage<ProbeResponse> = file.message('ProbeResponse', `
  1 ready google.protobuf.BoolValue
`);

export type CreateVolumeRequest = Message<'csi.v1.CreateVolumeRequest'> & {
  name: string;
  capacityRange?: CapacityRange | undefined;
  volumeCapabilities: VolumeCapability[];
  parameters: { [key: string]: string };
  secrets: { [key: string]: string };
  volumeContentSource?: VolumeContentSource | undefined;
  accessibilityRequirements?: TopologyRequirement | undefined;
  mutableParameters: { [key: string]: string };
};
export const CreateVolumeRequestSchema: DescMessage<CreateVolumeRequest> = file.message('CreateVolumeRequest', `
  1 name string
  2 capacity_range CapacityRange
  3 volume_capabilities repeated VolumeCapability
  4 parameters map
  5 secrets map secret
  6 volume_content_source VolumeContentSource
  7 accessibility_requirements TopologyRequirement
  8 mutable_parameters map
`);

export type CreateVolumeResponse = Message<'csi.v1.CreateVolumeResponse'> & {
  volume?: Volume | undefined;
};
export const CreateVolumeResponseSchema: DescMessage<CreateVolumeResponse> = file.message('CreateVolumeResponse', `
  1 volume Volume
`);

export type DeleteVolumeRequest = Message<'csi.v1.DeleteVolumeRequest'> & {
  volumeId: string;
  secrets: { [key: string]: string };
};
export const DeleteVolumeRequestSchema: DescMessage<DeleteVolumeRequest> = file.message('DeleteVolumeRequest', `
  1 volume_id string
  2 secrets map secret
`);

export type DeleteVolumeResponse = Message<'csi.v1.DeleteVolumeResponse'> & {};
export const DeleteVolumeResponseSchema: DescMessage<DeleteVolumeResponse> = file.message('DeleteVolumeResponse', '');

export type ControllerPublishVolumeRequest = Message<'csi.v1.ControllerPublishVolumeRequest'> & {
  volumeId: string;
  nodeId: string;
  volumeCapability?: VolumeCapability | undefined;
  readonly: boolean;
  secrets: { [key: string]: string };
  volumeContext: { [key: string]: string };
};
export const ControllerPublishVolumeRequestSchema: DescMessage<ControllerPublishVolumeRequest> = file.message('ControllerPublishVolumeRequest', `
  1 volume_id string
  2 node_id string
  3 volume_capability VolumeCapability
  4 readonly bool
  5 secrets map secret
  6 volume_context map
`);

export type ControllerPublishVolumeResponse = Message<'csi.v1.ControllerPublishVolumeResponse'> & {
  publishContext: { [key: string]: string };
};
export const ControllerPublishVolumeResponseSchema: DescMessage<ControllerPublishVolumeResponse> = file.message('ControllerPublishVolumeResponse', `
  1 publish_context map
`);

export type ControllerUnpublishVolumeRequest = Message<'csi.v1.ControllerUnpublishVolumeRequest'> & {
  volumeId: string;
  nodeId: string;
  secrets: { [key: string]: string };
};
export const ControllerUnpublishVolumeRequestSchema: DescMessage<ControllerUnpublishVolumeRequest> = file.message('ControllerUnpublishVolumeRequest', `
  1 volume_id string
  2 node_id string
  3 secrets map secret
`);

export type ControllerUnpublishVolumeResponse = Message<'csi.v1.ControllerUnpublishVolumeResponse'> & {};
export const ControllerUnpublishVolumeResponseSchema: DescMessage<ControllerUnpublishVolumeResponse> = file.message('ControllerUnpublishVolumeResponse', '');

export type ValidateVolumeCapabilitiesRequest = Message<'csi.v1.ValidateVolumeCapabilitiesRequest'> & {
  volumeId: string;
  volumeContext: { [key: string]: string };
  volumeCapabilities: VolumeCapability[];
  parameters: { [key: string]: string };
  secrets: { [key: string]: string };
  mutableParameters: { [key: string]: string };
};
export const ValidateVolumeCapabilitiesRequestSchema: DescMessage<ValidateVolumeCapabilitiesRequest> = file.message('ValidateVolumeCapabilitiesRequest', `
  1 volume_id string
  2 volume_context map
  3 volume_capabilities repeated VolumeCapability
  4 parameters map
  5 secrets map secret
  6 mutable_parameters map
`);

export type ValidateVolumeCapabilitiesResponse_Confirmed = Message<'csi.v1.ValidateVolumeCapabilitiesResponse.Confirmed'> & {
  volumeContext: { [key: string]: string };
  volumeCapabilities: VolumeCapability[];
  parameters: { [key: string]: string };
  mutableParameters: { [key: string]: string };
};
export const ValidateVolumeCapabilitiesResponse_ConfirmedSchema: DescMessage<ValidateVolumeCapabilitiesResponse_Confirmed> = file.message('ValidateVolumeCapabilitiesResponse.Confirmed', `
  1 volume_context map
  2 volume_capabilities repeated VolumeCapability
  3 parameters map
  4 mutable_parameters map
`);

export type ValidateVolumeCapabilitiesResponse = Message<'csi.v1.ValidateVolumeCapabilitiesResponse'> & {
  confirmed?: ValidateVolumeCapabilitiesResponse_Confirmed | undefined;
  message: string;
};
export const ValidateVolumeCapabilitiesResponseSchema: DescMessage<ValidateVolumeCapabilitiesResponse> = file.message('ValidateVolumeCapabilitiesResponse', `
  1 confirmed ValidateVolumeCapabilitiesResponse.Confirmed
  2 message string
`);

export type ListVolumesRequest = Message<'csi.v1.ListVolumesRequest'> & {
  maxEntries: number;
  startingToken: string;
};
export const ListVolumesRequestSchema: DescMessage<ListVolumesRequest> = file.message('ListVolumesRequest', `
  1 max_entries int32
  2 starting_token string
`);

export type ListVolumesResponse_VolumeStatus = Message<'csi.v1.ListVolumesResponse.VolumeStatus'> & {
  publishedNodeIds: string[];
  volumeCondition?: VolumeCondition | undefined;
};
export const ListVolumesResponse_VolumeStatusSchema: DescMessage<ListVolumesResponse_VolumeStatus> = file.message('ListVolumesResponse.VolumeStatus', `
  1 published_node_ids repeated string
  2 volume_condition VolumeCondition
`);

export type ListVolumesResponse_Entry = Message<'csi.v1.ListVolumesResponse.Entry'> & {
  volume?: Volume | undefined;
  status?: ListVolumesResponse_VolumeStatus | undefined;
};
export const ListVolumesResponse_EntrySchema: DescMessage<ListVolumesResponse_Entry> = file.message('ListVolumesResponse.Entry', `
  1 volume Volume
  2 status ListVolumesResponse.VolumeStatus
`);

export type ListVolumesResponse = Message<'csi.v1.ListVolumesResponse'> & {
  entries: ListVolumesResponse_Entry[];
  nextToken: string;
};
export const ListVolumesResponseSchema: DescMessage<ListVolumesResponse> = file.message('ListVolumesResponse', `
  1 entries repeated ListVolumesResponse.Entry
  2 next_token string
`);

export type ControllerGetVolumeRequest = Message<'csi.v1.ControllerGetVolumeRequest'> & {
  volumeId: string;
};
export const ControllerGetVolumeRequestSchema: DescMessage<ControllerGetVolumeRequest> = file.message('ControllerGetVolumeRequest', `
  1 volume_id string
`);

export type ControllerGetVolumeResponse_VolumeStatus = Message<'csi.v1.ControllerGetVolumeResponse.VolumeStatus'> & {
  publishedNodeIds: string[];
  volumeCondition?: VolumeCondition | undefined;
};
export const ControllerGetVolumeResponse_VolumeStatusSchema: DescMessage<ControllerGetVolumeResponse_VolumeStatus> = file.message('ControllerGetVolumeResponse.VolumeStatus', `
  1 published_node_ids repeated string
  2 volume_condition VolumeCondition
`);

export type ControllerGetVolumeResponse = Message<'csi.v1.ControllerGetVolumeResponse'> & {
  volume?: Volume | undefined;
  status?: ControllerGetVolumeResponse_VolumeStatus | undefined;
};
export const ControllerGetVolumeResponseSchema: DescMessage<ControllerGetVolumeResponse> = file.message('ControllerGetVolumeResponse', `
  1 volume Volume
  2 status ControllerGetVolumeResponse.VolumeStatus
`);

export type ControllerModifyVolumeRequest = Message<'csi.v1.ControllerModifyVolumeRequest'> & {
  volumeId: string;
  secrets: { [key: string]: string };
  mutableParameters: { [key: string]: string };
};
export const ControllerModifyVolumeRequestSchema: DescMessage<ControllerModifyVolumeRequest> = file.message('ControllerModifyVolumeRequest', `
  1 volume_id string
  2 secrets map secret
  3 mutable_parameters map
`);

export type ControllerModifyVolumeResponse = Message<'csi.v1.ControllerModifyVolumeResponse'> & {};
export const ControllerModifyVolumeResponseSchema: DescMessage<ControllerModifyVolumeResponse> = file.message('ControllerModifyVolumeResponse', '');

export type ControllerExpandVolumeRequest = Message<'csi.v1.ControllerExpandVolumeRequest'> & {
  volumeId: string;
  capacityRange?: CapacityRange | undefined;
  secrets: { [key: string]: string };
  volumeCapability?: VolumeCapability | undefined;
};
export const ControllerExpandVolumeRequestSchema: DescMessage<ControllerExpandVolumeRequest> = file.message('ControllerExpandVolumeRequest', `
  1 volume_id string
  2 capacity_range CapacityRange
  3 secrets map secret
  4 volume_capability VolumeCapability
`);

export type ControllerExpandVolumeResponse = Message<'csi.v1.ControllerExpandVolumeResponse'> & {
  capacityBytes: bigint;
  nodeExpansionRequired: boolean;
};
export const ControllerExpandVolumeResponseSchema: DescMessage<ControllerExpandVolumeResponse> = file.message('ControllerExpandVolumeResponse', `
  1 capacity_bytes int64
  2 node_expansion_required bool
`);

export type GetCapacityRequest = Message<'csi.v1.GetCapacityRequest'> & {
  volumeCapabilities: VolumeCapability[];
  parameters: { [key: string]: string };
  accessibleTopology?: Topology | undefined;
};
export const GetCapacityRequestSchema: DescMessage<GetCapacityRequest> = file.message('GetCapacityRequest', `
  1 volume_capabilities repeated VolumeCapability
  2 parameters map
  3 accessible_topology Topology
`);

export type GetCapacityResponse = Message<'csi.v1.GetCapacityResponse'> & {
  availableCapacity: bigint;
  maximumVolumeSize?: bigint | undefined;
  minimumVolumeSize?: bigint | undefined;
};
export const GetCapacityResponseSchema: DescMessage<GetCapacityResponse> = file.message('GetCapacityResponse', `
  1 available_capacity int64
  2 maximum_volume_size google.protobuf.Int64Value
  3 minimum_volume_size google.protobuf.Int64Value
`);

export type ControllerGetCapabilitiesRequest = Message<'csi.v1.ControllerGetCapabilitiesRequest'> & {};
export const ControllerGetCapabilitiesRequestSchema: DescMessage<ControllerGetCapabilitiesRequest> = file.message('ControllerGetCapabilitiesRequest', '');

export type ControllerGetCapabilitiesResponse = Message<'csi.v1.ControllerGetCapabilitiesResponse'> & {
  capabilities: ControllerServiceCapability[];
};
export const ControllerGetCapabilitiesResponseSchema: DescMessage<ControllerGetCapabilitiesResponse> = file.message('ControllerGetCapabilitiesResponse', `
  1 capabilities repeated ControllerServiceCapability
`);

export const ControllerServiceCapability_RPC_Type = file.enumeration('ControllerServiceCapability.RPC.Type', {
  UNKNOWN: 0,
  CREATE_DELETE_VOLUME: 1,
  PUBLISH_UNPUBLISH_VOLUME: 2,
  LIST_VOLUMES: 3,
  GET_CAPACITY: 4,
  CREATE_DELETE_SNAPSHOT: 5,
  LIST_SNAPSHOTS: 6,
  CLONE_VOLUME: 7,
  PUBLISH_READONLY: 8,
  EXPAND_VOLUME: 9,
  LIST_VOLUMES_PUBLISHED_NODES: 10,
  VOLUME_CONDITION: 11,
  GET_VOLUME: 12,
  SINGLE_NODE_MULTI_WRITER: 13,
  MODIFY_VOLUME: 14,
  GET_SNAPSHOT: 15,
});
export type ControllerServiceCapability_RPC_Type = (typeof ControllerServiceCapability_RPC_Type)[keyof typeof ControllerServiceCapability_RPC_Type] | UnknownEnum;

export type ControllerServiceCapability_RPC = Message<'csi.v1.ControllerServiceCapability.RPC'> & {
  type: ControllerServiceCapability_RPC_Type;
};
export const ControllerServiceCapability_RPCSchema: DescMessage<ControllerServiceCapability_RPC> = file.message('ControllerServiceCapability.RPC', `
  1 type ControllerServiceCapability.RPC.Type
`);

export type ControllerServiceCapability = Message<'csi.v1.ControllerServiceCapability'> & {
  type:
    | { case: 'rpc'; value: ControllerServiceCapability_RPC }
    | { case: undefined; value?: undefined };
};
export const ControllerServiceCapabilitySchema: DescMessage<ControllerServiceCapability> = file.message('ControllerServiceCapability', `
  1 rpc ControllerServiceCapability.RPC of type
`);

export type CreateSnapshotRequest = Message<'csi.v1.CreateSnapshotRequest'> & {
  sourceVolumeId: string;
  name: string;
  secrets: { [key: string]: string };
  parameters: { [key: string]: string };
};
export const CreateSnapshotRequestSchema: DescMessage<CreateSnapshotRequest> = file.message('CreateSnapshotRequest', `
  1 source_volume_id string
  2 name string
  3 secrets map secret
  4 parameters map
`);

export type CreateSnapshotResponse = Message<'csi.v1.CreateSnapshotResponse'> & {
  snapshot?: Snapshot | undefined;
};
export const CreateSnapshotResponseSchema: DescMessage<CreateSnapshotResponse> = file.message('CreateSnapshotResponse', `
  1 snapshot Snapshot
`);

export type DeleteSnapshotRequest = Message<'csi.v1.DeleteSnapshotRequest'> & {
  snapshotId: string;
  secrets: { [key: string]: string };
};
export const DeleteSnapshotRequestSchema: DescMessage<DeleteSnapshotRequest> = file.message('DeleteSnapshotRequest', `
  1 snapshot_id string
  2 secrets map secret
`);

export type DeleteSnapshotResponse = Message<'csi.v1.DeleteSnapshotResponse'> & {};
export const DeleteSnapshotResponseSchema: DescMessage<DeleteSnapshotResponse> = file.message('DeleteSnapshotResponse', '');

export type ListSnapshotsRequest = Message<'csi.v1.ListSnapshotsRequest'> & {
  maxEntries: number;
  startingToken: string;
  sourceVolumeId: string;
  snapshotId: string;
  secrets: { [key: string]: string };
};
export const ListSnapshotsRequestSchema: DescMessage<ListSnapshotsRequest> = file.message('ListSnapshotsRequest', `
  1 max_entries int32
  2 starting_token string
  3 source_volume_id string
  4 snapshot_id string
  5 secrets map secret
`);

export type ListSnapshotsResponse_Entry = Message<'csi.v1.ListSnapshotsResponse.Entry'> & {
  snapshot?: Snapshot | undefined;
};
export const ListSnapshotsResponse_EntrySchema: DescMessage<ListSnapshotsResponse_Entry> = file.message('ListSnapshotsResponse.Entry', `
  1 snapshot Snapshot
`);

export type ListSnapshotsResponse = Message<'csi.v1.ListSnapshotsResponse'> & {
  entries: ListSnapshotsResponse_Entry[];
  nextToken: string;
};
export const ListSnapshotsResponseSchema: DescMessage<ListSnapshotsResponse> = file.message('ListSnapshotsResponse', `
  1 entries repeated ListSnapshotsResponse.Entry
  2 next_token string
`);

export type GetSnapshotRequest = Message<'csi.v1.GetSnapshotRequest'> & {
  snapshotId: string;
  secrets: { [key: string]: string };
};
export const GetSnapshotRequestSchema: DescMessage<GetSnapshotRequest> = file.message('GetSnapshotRequest', `
  1 snapshot_id string
  2 secrets map secret
`);

export type GetSnapshotResponse = Message<'csi.v1.GetSnapshotResponse'> & {
  snapshot?: Snapshot | undefined;
};
export const GetSnapshotResponseSchema: DescMessage<GetSnapshotResponse> = file.message('GetSnapshotResponse', `
  1 snapshot Snapshot
`);

export type GroupControllerGetCapabilitiesRequest = Message<'csi.v1.GroupControllerGetCapabilitiesRequest'> & {};
export const GroupControllerGetCapabilitiesRequestSchema: DescMessage<GroupControllerGetCapabilitiesRequest> = file.message('GroupControllerGetCapabilitiesRequest', '');

export type GroupControllerGetCapabilitiesResponse = Message<'csi.v1.GroupControllerGetCapabilitiesResponse'> & {
  capabilities: GroupControllerServiceCapability[];
};
export const GroupControllerGetCapabilitiesResponseSchema: DescMessage<GroupControllerGetCapabilitiesResponse> = file.message('GroupControllerGetCapabilitiesResponse', `
  1 capabilities repeated GroupControllerServiceCapability
`);

export const GroupControllerServiceCapability_RPC_Type = file.enumeration('GroupControllerServiceCapability.RPC.Type', {
  UNKNOWN: 0,
  CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT: 1,
});
export type GroupControllerServiceCapability_RPC_Type = (typeof GroupControllerServiceCapability_RPC_Type)[keyof typeof GroupControllerServiceCapability_RPC_Type] | UnknownEnum;

export type GroupControllerServiceCapability_RPC = Message<'csi.v1.GroupControllerServiceCapability.RPC'> & {
  type: GroupControllerServiceCapability_RPC_Type;
};
export const GroupControllerServiceCapability_RPCSchema: DescMessage<GroupControllerServiceCapability_RPC> = file.message('GroupControllerServiceCapability.RPC', `
  1 type GroupControllerServiceCapability.RPC.Type
`);

export type GroupControllerServiceCapability = Message<'csi.v1.GroupControllerServiceCapability'> & {
  type:
    | { case: 'rpc'; value: GroupControllerServiceCapability_RPC }
    | { case: undefined; value?: undefined };
};
export const GroupControllerServiceCapabilitySchema: DescMessage<GroupControllerServiceCapability> = file.message('GroupControllerServiceCapability', `
  1 rpc GroupControllerServiceCapability.RPC of type
`);

export type VolumeGroupSnapshot = Message<'csi.v1.VolumeGroupSnapshot'> & {
  groupSnapshotId: string;
  snapshots: Snapshot[];
  creationTime?: Timestamp | undefined;
  readyToUse: boolean;
};
export const VolumeGroupSnapshotSchema: DescMessage<VolumeGroupSnapshot> = file.message('VolumeGroupSnapshot', `
  1 group_snapshot_id string
  2 snapshots repeated Snapshot
  3 creation_time google.protobuf.Timestamp
  4 ready_to_use bool
`);

export type CreateVolumeGroupSnapshotRequest = Message<'csi.v1.CreateVolumeGroupSnapshotRequest'> & {
  name: string;
  sourceVolumeIds: string[];
  secrets: { [key: string]: string };
  parameters: { [key: string]: string };
};
export const CreateVolumeGroupSnapshotRequestSchema: DescMessage<CreateVolumeGroupSnapshotRequest> = file.message('CreateVolumeGroupSnapshotRequest', `
  1 name string
  2 source_volume_ids repeated string
  3 secrets map secret
  4 parameters map
`);

export type CreateVolumeGroupSnapshotResponse = Message<'csi.v1.CreateVolumeGroupSnapshotResponse'> & {
  groupSnapshot?: VolumeGroupSnapshot | undefined;
};
export const CreateVolumeGroupSnapshotResponseSchema: DescMessage<CreateVolumeGroupSnapshotResponse> = file.message('CreateVolumeGroupSnapshotResponse', `
  1 group_snapshot VolumeGroupSnapshot
`);

export type DeleteVolumeGroupSnapshotRequest = Message<'csi.v1.DeleteVolumeGroupSnapshotRequest'> & {
  groupSnapshotId: string;
  snapshotIds: string[];
  secrets: { [key: string]: string };
};
export const DeleteVolumeGroupSnapshotRequestSchema: DescMessage<DeleteVolumeGroupSnapshotRequest> = file.message('DeleteVolumeGroupSnapshotRequest', `
  1 group_snapshot_id string
  2 snapshot_ids repeated string
  3 secrets map secret
`);

export type DeleteVolumeGroupSnapshotResponse = Message<'csi.v1.DeleteVolumeGroupSnapshotResponse'> & {};
export const DeleteVolumeGroupSnapshotResponseSchema: DescMessage<DeleteVolumeGroupSnapshotResponse> = file.message('DeleteVolumeGroupSnapshotResponse', '');

export type GetVolumeGroupSnapshotRequest = Message<'csi.v1.GetVolumeGroupSnapshotRequest'> & {
  groupSnapshotId: string;
  snapshotIds: string[];
  secrets: { [key: string]: string };
};
export const GetVolumeGroupSnapshotRequestSchema: DescMessage<GetVolumeGroupSnapshotRequest> = file.message('GetVolumeGroupSnapshotRequest', `
  1 group_snapshot_id string
  2 snapshot_ids repeated string
  3 secrets map secret
`);

export type GetVolumeGroupSnapshotResponse = Message<'csi.v1.GetVolumeGroupSnapshotResponse'> & {
  groupSnapshot?: VolumeGroupSnapshot | undefined;
};
export const GetVolumeGroupSnapshotResponseSchema: DescMessage<GetVolumeGroupSnapshotResponse> = file.message('GetVolumeGroupSnapshotResponse', `
  1 group_snapshot VolumeGroupSnapshot
`);

export type BlockMetadata = Message<'csi.v1.BlockMetadata'> & {
  byteOffset: bigint;
  sizeBytes: bigint;
};
export const BlockMetadataSchema: DescMessage<BlockMetadata> = file.message('BlockMetadata', `
  1 byte_offset int64
  2 size_bytes int64
`);

export type GetMetadataAllocatedRequest = Message<'csi.v1.GetMetadataAllocatedRequest'> & {
  snapshotId: string;
  startingOffset: bigint;
  maxResults: number;
  secrets: { [key: string]: string };
};
export const GetMetadataAllocatedRequestSchema: DescMessage<GetMetadataAllocatedRequest> = file.message('GetMetadataAllocatedRequest', `
  1 snapshot_id string
  2 starting_offset int64
  3 max_results int32
  4 secrets map secret
`);

export type GetMetadataAllocatedResponse = Message<'csi.v1.GetMetadataAllocatedResponse'> & {
  blockMetadataType: BlockMetadataType;
  volumeCapacityBytes: bigint;
  blockMetadata: BlockMetadata[];
};
export const GetMetadataAllocatedResponseSchema: DescMessage<GetMetadataAllocatedResponse> = file.message('GetMetadataAllocatedResponse', `
  1 block_metadata_type BlockMetadataType
  2 volume_capacity_bytes int64
  3 block_metadata repeated BlockMetadata
`);

export type GetMetadataDeltaRequest = Message<'csi.v1.GetMetadataDeltaRequest'> & {
  baseSnapshotId: string;
  targetSnapshotId: string;
  startingOffset: bigint;
  maxResults: number;
  secrets: { [key: string]: string };
};
export const GetMetadataDeltaRequestSchema: DescMessage<GetMetadataDeltaRequest> = file.message('GetMetadataDeltaRequest', `
  1 base_snapshot_id string
  2 target_snapshot_id string
  3 starting_offset int64
  4 max_results int32
  5 secrets map secret
`);

export type GetMetadataDeltaResponse = Message<'csi.v1.GetMetadataDeltaResponse'> & {
  blockMetadataType: BlockMetadataType;
  volumeCapacityBytes: bigint;
  blockMetadata: BlockMetadata[];
};
export const GetMetadataDeltaResponseSchema: DescMessage<GetMetadataDeltaResponse> = file.message('GetMetadataDeltaResponse', `
  1 block_metadata_type BlockMetadataType
  2 volume_capacity_bytes int64
  3 block_metadata repeated BlockMetadata
`);

export type NodeStageVolumeRequest = Message<'csi.v1.NodeStageVolumeRequest'> & {
  volumeId: string;
  publishContext: { [key: string]: string };
  stagingTargetPath: string;
  volumeCapability?: VolumeCapability | undefined;
  secrets: { [key: string]: string };
  volumeContext: { [key: string]: string };
};
export const NodeStageVolumeRequestSchema: DescMessage<NodeStageVolumeRequest> = file.message('NodeStageVolumeRequest', `
  1 volume_id string
  2 publish_context map
  3 staging_target_path string
  4 volume_capability VolumeCapability
  5 secrets map secret
  6 volume_context map
`);

export type NodeStageVolumeResponse = Message<'csi.v1.NodeStageVolumeResponse'> & {};
export const NodeStageVolumeResponseSchema: DescMessage<NodeStageVolumeResponse> = file.message('NodeStageVolumeResponse', '');

export type NodeUnstageVolumeRequest = Message<'csi.v1.NodeUnstageVolumeRequest'> & {
  volumeId: string;
  stagingTargetPath: string;
};
export const NodeUnstageVolumeRequestSchema: DescMessage<NodeUnstageVolumeRequest> = file.message('NodeUnstageVolumeRequest', `
  1 volume_id string
  2 staging_target_path string
`);

export type NodeUnstageVolumeResponse = Message<'csi.v1.NodeUnstageVolumeResponse'> & {};
export const NodeUnstageVolumeResponseSchema: DescMessage<NodeUnstageVolumeResponse> = file.message('NodeUnstageVolumeResponse', '');

export type NodePublishVolumeRequest = Message<'csi.v1.NodePublishVolumeRequest'> & {
  volumeId: string;
  publishContext: { [key: string]: string };
  stagingTargetPath: string;
  targetPath: string;
  volumeCapability?: VolumeCapability | undefined;
  readonly: boolean;
  secrets: { [key: string]: string };
  volumeContext: { [key: string]: string };
};
export const NodePublishVolumeRequestSchema: DescMessage<NodePublishVolumeRequest> = file.message('NodePublishVolumeRequest', `
  1 volume_id string
  2 publish_context map
  3 staging_target_path string
  4 target_path string
  5 volume_capability VolumeCapability
  6 readonly bool
  7 secrets map secret
  8 volume_context map
`);

export type NodePublishVolumeResponse = Message<'csi.v1.NodePublishVolumeResponse'> & {};
export const NodePublishVolumeResponseSchema: DescMessage<NodePublishVolumeResponse> = file.message('NodePublishVolumeResponse', '');

export type NodeUnpublishVolumeRequest = Message<'csi.v1.NodeUnpublishVolumeRequest'> & {
  volumeId: string;
  targetPath: string;
};
export const NodeUnpublishVolumeRequestSchema: DescMessage<NodeUnpublishVolumeRequest> = file.message('NodeUnpublishVolumeRequest', `
  1 volume_id string
  2 target_path string
`);

export type NodeUnpublishVolumeResponse = Message<'csi.v1.NodeUnpublishVolumeResponse'> & {};
export const NodeUnpublishVolumeResponseSchema: DescMessage<NodeUnpublishVolumeResponse> = file.message('NodeUnpublishVolumeResponse', '');

export type NodeGetVolumeStatsRequest = Message<'csi.v1.NodeGetVolumeStatsRequest'> & {
  volumeId: string;
  volumePath: string;
  stagingTargetPath: string;
};
export const NodeGetVolumeStatsRequestSchema: DescMessage<NodeGetVolumeStatsRequest> = file.message('NodeGetVolumeStatsRequest', `
  1 volume_id string
  2 volume_path string
  3 staging_target_path string
`);

export type NodeGetVolumeStatsResponse = Message<'csi.v1.NodeGetVolumeStatsResponse'> & {
  usage: VolumeUsage[];
  volumeCondition?: VolumeCondition | undefined;
};
export const NodeGetVolumeStatsResponseSchema: DescMessage<NodeGetVolumeStatsResponse> = file.message('NodeGetVolumeStatsResponse', `
  1 usage repeated VolumeUsage
  2 volume_condition VolumeCondition
`);

export const VolumeUsage_Unit = file.enumeration('VolumeUsage.Unit', {
  UNKNOWN: 0,
  BYTES: 1,
  INODES: 2,
});
export type VolumeUsage_Unit = (typeof VolumeUsage_Unit)[keyof typeof VolumeUsage_Unit] | UnknownEnum;

export type VolumeUsage = Message<'csi.v1.VolumeUsage'> & {
  available: bigint;
  total: bigint;
  used: bigint;
  unit: VolumeUsage_Unit;
};
export const VolumeUsageSchema: DescMessage<VolumeUsage> = file.message('VolumeUsage', `
  1 available int64
  2 total int64
  3 used int64
  4 unit VolumeUsage.Unit
`);

export type NodeExpandVolumeRequest = Message<'csi.v1.NodeExpandVolumeRequest'> & {
  volumeId: string;
  volumePath: string;
  capacityRange?: CapacityRange | undefined;
  stagingTargetPath: string;
  volumeCapability?: VolumeCapability | undefined;
  secrets: { [key: string]: string };
};
export const NodeExpandVolumeRequestSchema: DescMessage<NodeExpandVolumeRequest> = file.message('NodeExpandVolumeRequest', `
  1 volume_id string
  2 volume_path string
  3 capacity_range CapacityRange
  4 staging_target_path string
  5 volume_capability VolumeCapability
  6 secrets map secret
`);

export type NodeExpandVolumeResponse = Message<'csi.v1.NodeExpandVolumeResponse'> & {
  capacityBytes: bigint;
};
export const NodeExpandVolumeResponseSchema: DescMessage<NodeExpandVolumeResponse> = file.message('NodeExpandVolumeResponse', `
  1 capacity_bytes int64
`);

export type NodeGetCapabilitiesRequest = Message<'csi.v1.NodeGetCapabilitiesRequest'> & {};
export const NodeGetCapabilitiesRequestSchema: DescMessage<NodeGetCapabilitiesRequest> = file.message('NodeGetCapabilitiesRequest', '');

export type NodeGetCapabilitiesResponse = Message<'csi.v1.NodeGetCapabilitiesResponse'> & {
  capabilities: NodeServiceCapability[];
};
export const NodeGetCapabilitiesResponseSchema: DescMessage<NodeGetCapabilitiesResponse> = file.message('NodeGetCapabilitiesResponse', `
  1 capabilities repeated NodeServiceCapability
`);

export const NodeServiceCapability_RPC_Type = file.enumeration('NodeServiceCapability.RPC.Type', {
  UNKNOWN: 0,
  STAGE_UNSTAGE_VOLUME: 1,
  GET_VOLUME_STATS: 2,
  EXPAND_VOLUME: 3,
  VOLUME_CONDITION: 4,
  SINGLE_NODE_MULTI_WRITER: 5,
  VOLUME_MOUNT_GROUP: 6,
});
export type NodeServiceCapability_RPC_Type = (typeof NodeServiceCapability_RPC_Type)[keyof typeof NodeServiceCapability_RPC_Type] | UnknownEnum;

export type NodeServiceCapability_RPC = Message<'csi.v1.NodeServiceCapability.RPC'> & {
  type: NodeServiceCapability_RPC_Type;
};
export const NodeServiceCapability_RPCSchema: DescMessage<NodeServiceCapability_RPC> = file.message('NodeServiceCapability.RPC', `
  1 type NodeServiceCapability.RPC.Type
`);

export type NodeServiceCapability = Message<'csi.v1.NodeServiceCapability'> & {
  type:
    | { case: 'rpc'; value: NodeServiceCapability_RPC }
    | { case: undefined; value?: undefined };
};
export const NodeServiceCapabilitySchema: DescMessage<NodeServiceCapability> = file.message('NodeServiceCapability', `
  1 rpc NodeServiceCapability.RPC of type
`);

export type NodeGetInfoRequest = Message<'csi.v1.NodeGetInfoRequest'> & {};
export const NodeGetInfoRequestSchema: DescMessage<NodeGetInfoRequest> = file.message('NodeGetInfoRequest', '');

export type NodeGetInfoResponse = Message<'csi.v1.NodeGetInfoResponse'> & {
  nodeId: string;
  maxVolumesPerNode: bigint;
  accessibleTopology?: Topology | undefined;
};
export const NodeGetInfoResponseSchema: DescMessage<NodeGetInfoResponse> = file.message('NodeGetInfoResponse', `
  1 node_id string
  2 max_volumes_per_node int64
  3 accessible_topology Topology
`);

export const Identity = file.service('Identity', {
  getPluginInfo: { methodKind: 'unary', input: GetPluginInfoRequestSchema, output: GetPluginInfoResponseSchema },
  getPluginCapabilities: { methodKind: 'unary', input: GetPluginCapabilitiesRequestSchema, output: GetPluginCapabilitiesResponseSchema },
  probe: { methodKind: 'unary', input: ProbeRequestSchema, output: ProbeResponseSchema },
});

export const Controller = file.service('Controller', {
  createVolume: { methodKind: 'unary', input: CreateVolumeRequestSchema, output: CreateVolumeResponseSchema },
  deleteVolume: { methodKind: 'unary', input: DeleteVolumeRequestSchema, output: DeleteVolumeResponseSchema },
  controllerPublishVolume: { methodKind: 'unary', input: ControllerPublishVolumeRequestSchema, output: ControllerPublishVolumeResponseSchema },
  controllerUnpublishVolume: { methodKind: 'unary', input: ControllerUnpublishVolumeRequestSchema, output: ControllerUnpublishVolumeResponseSchema },
  validateVolumeCapabilities: { methodKind: 'unary', input: ValidateVolumeCapabilitiesRequestSchema, output: ValidateVolumeCapabilitiesResponseSchema },
  listVolumes: { methodKind: 'unary', input: ListVolumesRequestSchema, output: ListVolumesResponseSchema },
  getCapacity: { methodKind: 'unary', input: GetCapacityRequestSchema, output: GetCapacityResponseSchema },
  controllerGetCapabilities: { methodKind: 'unary', input: ControllerGetCapabilitiesRequestSchema, output: ControllerGetCapabilitiesResponseSchema },
  createSnapshot: { methodKind: 'unary', input: CreateSnapshotRequestSchema, output: CreateSnapshotResponseSchema },
  deleteSnapshot: { methodKind: 'unary', input: DeleteSnapshotRequestSchema, output: DeleteSnapshotResponseSchema },
  listSnapshots: { methodKind: 'unary', input: ListSnapshotsRequestSchema, output: ListSnapshotsResponseSchema },
  getSnapshot: { methodKind: 'unary', input: GetSnapshotRequestSchema, output: GetSnapshotResponseSchema },
  controllerExpandVolume: { methodKind: 'unary', input: ControllerExpandVolumeRequestSchema, output: ControllerExpandVolumeResponseSchema },
  controllerGetVolume: { methodKind: 'unary', input: ControllerGetVolumeRequestSchema, output: ControllerGetVolumeResponseSchema },
  controllerModifyVolume: { methodKind: 'unary', input: ControllerModifyVolumeRequestSchema, output: ControllerModifyVolumeResponseSchema },
});

export const GroupController = file.service('GroupController', {
  groupControllerGetCapabilities: { methodKind: 'unary', input: GroupControllerGetCapabilitiesRequestSchema, output: GroupControllerGetCapabilitiesResponseSchema },
  createVolumeGroupSnapshot: { methodKind: 'unary', input: CreateVolumeGroupSnapshotRequestSchema, output: CreateVolumeGroupSnapshotResponseSchema },
  deleteVolumeGroupSnapshot: { methodKind: 'unary', input: DeleteVolumeGroupSnapshotRequestSchema, output: DeleteVolumeGroupSnapshotResponseSchema },
  getVolumeGroupSnapshot: { methodKind: 'unary', input: GetVolumeGroupSnapshotRequestSchema, output: GetVolumeGroupSnapshotResponseSchema },
});

export const SnapshotMetadata = file.service('SnapshotMetadata', {
  getMetadataAllocated: { methodKind: 'server_streaming', input: GetMetadataAllocatedRequestSchema, output: GetMetadataAllocatedResponseSchema },
  getMetadataDelta: { methodKind: 'server_streaming', input: GetMetadataDeltaRequestSchema, output: GetMetadataDeltaResponseSchema },
});

export const Node = file.service('Node', {
  nodeStageVolume: { methodKind: 'unary', input: NodeStageVolumeRequestSchema, output: NodeStageVolumeResponseSchema },
  nodeUnstageVolume: { methodKind: 'unary', input: NodeUnstageVolumeRequestSchema, output: NodeUnstageVolumeResponseSchema },
  nodePublishVolume: { methodKind: 'unary', input: NodePublishVolumeRequestSchema, output: NodePublishVolumeResponseSchema },
  nodeUnpublishVolume: { methodKind: 'unary', input: NodeUnpublishVolumeRequestSchema, output: NodeUnpublishVolumeResponseSchema },
  nodeGetVolumeStats: { methodKind: 'unary', input: NodeGetVolumeStatsRequestSchema, output: NodeGetVolumeStatsResponseSchema },
  nodeExpandVolume: { methodKind: 'unary', input: NodeExpandVolumeRequestSchema, output: NodeExpandVolumeResponseSchema },
  nodeGetCapabilities: { methodKind: 'unary', input: NodeGetCapabilitiesRequestSchema, output: NodeGetCapabilitiesResponseSchema },
  nodeGetInfo: { methodKind: 'unary', input: NodeGetInfoRequestSchema, output: NodeGetInfoResponseSchema },
});
