// Passes a driver's stream on to the caller, in the messages of the outer service. An error in the middle says where the
// caller can continue.

import { CsiError } from '../../csi/csi-error.ts';
import type { BlockMetadataType } from '../../csi/generated/csi/v1/csi_pb.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { grpcCodes } from '../../wire/grpc/grpc-code.ts';

interface MetadataPart {
  blockMetadataType: BlockMetadataType;
  volumeCapacityBytes: bigint;
  blockMetadata: { byteOffset: bigint; sizeBytes: bigint }[];
}

export type MetadataStream = AsyncIterable<MetadataPart>;

export async function* relay(
  stream: MetadataStream,
  { driver, startingOffset }: { driver: DriverName; startingOffset: bigint },
) {
  let next = startingOffset;
  try {
    for await (const { blockMetadataType, volumeCapacityBytes, blockMetadata } of stream) {
      yield {
        blockMetadataType,
        volumeCapacityBytes,
        blockMetadata: blockMetadata.map(({ byteOffset, sizeBytes }) => ({ byteOffset, sizeBytes })),
      };
      const last = blockMetadata.at(-1);
      if (last) next = last.byteOffset + last.sizeBytes;
    }
  } catch (error) {
    if (!(error instanceof CsiError)) throw error;
    const rest = next === startingOffset ? '' : `; to continue, ask again with starting_offset ${next}`;
    throw new CsiError({
      // A code that says nothing becomes INTERNAL, as in the official sidecar.
      code: error.rawCode === grpcCodes.UNKNOWN ? 'INTERNAL' : error.rawCode,
      message: `driver ${driver}: ${error.description}${rest}`,
      cause: error,
    });
  }
}
