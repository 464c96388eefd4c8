// Generated from proto/snapshotmetadata/schema.proto by scripts/generate-proto.ts.

import type { DescMessage, Message, UnknownEnum } from '../../../wire/protobuf/descriptor.ts';
import { protoFile } from '../../../wire/protobuf/proto-file.ts';
import { wellKnown } from '../../../wire/protobuf/well-known.ts';

const file = protoFile('snapshotmetadata', wellKnown);

export const BlockMetadataType = file.enumeration('BlockMetadataType', {
  UNKNOWN: 0,
  FIXED_LENGTH: 1,
  VARIABLE_LENGTH: 2,
});
export type BlockMetadataType = (typeof BlockMetadataType)[keyof typeof BlockMetadataType] | UnknownEnum;

export type BlockMetadata = Message<'snapshotmetadata.BlockMetadata'> & {
  byteOffset: bigint;
  sizeBytes: bigint;
};
export const BlockMetadataSchema: DescMessage<BlockMetadata> = file.message('BlockMetadata', `
  1 byte_offset int64
  2 size_bytes int64
`);

export type GetMetadataAllocatedRequest = Message<'snapshotmetadata.GetMetadataAllocatedRequest'> & {
  securityToken: string;
  namespace: string;
  snapshotName: string;
  startingOffset: bigint;
  maxResults: number;
};
export const GetMetadataAllocatedRequestSchema: DescMessage<GetMetadataAllocatedRequest> = file.message('GetMetadataAllocatedRequest', `
  1 security_token string secret
  2 namespace string
  3 snapshot_name string
  4 starting_offset int64
  5 max_results int32
`);

export type GetMetadataAllocatedResponse = Message<'snapshotmetadata.GetMetadataAllocatedResponse'> & {
  blockMetadataType: BlockMetadataType;
  volumeCapacityBytes: bigint;
  blockMetadata: BlockMetadata[];
};
export const GetMetadataAllocatedResponseSchema: DescMessage<GetMetadataAllocatedResponse> = file.message('GetMetadataAllocatedResponse', `
  1 block_metadata_type BlockMetadataType
  2 volume_capacity_bytes int64
  3 block_metadata repeated BlockMetadata
`);

export type GetMetadataDeltaRequest = Message<'snapshotmetadata.GetMetadataDeltaRequest'> & {
  securityToken: string;
  namespace: string;
  baseSnapshotId: string;
  targetSnapshotName: string;
  startingOffset: bigint;
  maxResults: number;
};
export const GetMetadataDeltaRequestSchema: DescMessage<GetMetadataDeltaRequest> = file.message('GetMetadataDeltaRequest', `
  1 security_token string secret
  2 namespace string
  3 base_snapshot_id string
  4 target_snapshot_name string
  5 starting_offset int64
  6 max_results int32
`);

export type GetMetadataDeltaResponse = Message<'snapshotmetadata.GetMetadataDeltaResponse'> & {
  blockMetadataType: BlockMetadataType;
  volumeCapacityBytes: bigint;
  blockMetadata: BlockMetadata[];
};
export const GetMetadataDeltaResponseSchema: DescMessage<GetMetadataDeltaResponse> = file.message('GetMetadataDeltaResponse', `
  1 block_metadata_type BlockMetadataType
  2 volume_capacity_bytes int64
  3 block_metadata repeated BlockMetadata
`);

export const SnapshotMetadata = file.service('SnapshotMetadata', {
  getMetadataAllocated: { methodKind: 'server_streaming', input: GetMetadataAllocatedRequestSchema, output: GetMetadataAllocatedResponseSchema },
  getMetadataDelta: { methodKind: 'server_streaming', input: GetMetadataDeltaRequestSchema, output: GetMetadataDeltaResponseSchema },
});
