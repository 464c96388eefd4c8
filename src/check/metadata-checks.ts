// Checks of snapshot metadata: which blocks of a snapshot hold data, or changed. Volumes are not written to: what is checked is
// the form of the streams, which callers rely on to continue an interrupted one.

import { BlockMetadataType } from '../csi/generated/csi/v1/csi_pb.ts';
import type { Check } from './check.ts';
import { type DriverUnderTest, expect, refuses } from './driver-under-test.ts';
import { createSnapshot } from './snapshot-checks.ts';

const NEEDS = {
  needs: ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT'],
  needsServices: ['SNAPSHOT_METADATA_SERVICE'],
  notFor: ({ options }: DriverUnderTest): string | undefined =>
    options.capability.accessType.case === 'block'
      ? undefined
      : 'snapshot metadata is of block volumes: give --block',
} as const;
const NO_SNAPSHOT = 'berth-check-no-such-snapshot';
/** More than any volume has, and less than a signed 64-bit number holds. */
const BEYOND = 1n << 60n;

interface Part {
  blockMetadataType: number;
  volumeCapacityBytes: bigint;
  blockMetadata: { byteOffset: bigint; sizeBytes: bigint }[];
}

export const metadataChecks: readonly Check[] = [
  {
    group: 'GetMetadataAllocated',
    title: 'rejects a request without an ID, a snapshot that does not exist, and offsets outside the volume',
    section: 'getmetadataallocated-errors',
    ...NEEDS,
    async run(driver) {
      const { snapshotId } = await createSnapshot(driver, (await driver.createVolume()).volumeId);
      await refuses('without an ID', allocated(driver, { snapshotId: '' }), 'INVALID_ARGUMENT');
      await refuses(
        'a snapshot that does not exist',
        allocated(driver, { snapshotId: NO_SNAPSHOT }),
        'NOT_FOUND',
      );
      for (const startingOffset of [-1n, BEYOND]) {
        await refuses(
          `starting_offset ${startingOffset}`,
          allocated(driver, { snapshotId, startingOffset }),
          'OUT_OF_RANGE',
        );
      }
    },
  },
  {
    group: 'GetMetadataAllocated',
    title: 'lists blocks in order, within the volume, and as many at once as was asked for',
    section: 'getmetadataallocated',
    ...NEEDS,
    async run(driver) {
      const { snapshotId } = await createSnapshot(driver, (await driver.createVolume()).volumeId);
      const all = wellFormed(await allocated(driver, { snapshotId }), { maxResults: 0, from: 0n });
      const single = await allocated(driver, { snapshotId, maxResults: 1 });
      const ones = wellFormed(single, { maxResults: 1, from: 0n });
      expect(
        ones.length === all.length,
        `${all.length} blocks were listed, and ${ones.length} with max_results 1`,
      );
      const middle = all.at(Math.floor(all.length / 2));
      if (middle === undefined) return;
      const from = middle.byteOffset + middle.sizeBytes;
      wellFormed(await allocated(driver, { snapshotId, startingOffset: from }), { maxResults: 0, from });
    },
  },
  {
    group: 'GetMetadataDelta',
    title: 'rejects requests without IDs, snapshots that do not exist, and offsets outside the volume',
    section: 'getmetadatadelta-errors',
    ...NEEDS,
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      const base = (await createSnapshot(driver, volumeId)).snapshotId;
      const target = (await createSnapshot(driver, volumeId)).snapshotId;
      await refuses('without a base', delta(driver, { base: '', target }), 'INVALID_ARGUMENT');
      await refuses('without a target', delta(driver, { base, target: '' }), 'INVALID_ARGUMENT');
      await refuses('a base that does not exist', delta(driver, { base: NO_SNAPSHOT, target }), 'NOT_FOUND');
      await refuses(
        'a target that does not exist',
        delta(driver, { base, target: NO_SNAPSHOT }),
        'NOT_FOUND',
      );
      const beyond = delta(driver, { base, target, startingOffset: BEYOND });
      await refuses(`starting_offset ${BEYOND}`, beyond, 'OUT_OF_RANGE');
    },
  },
  {
    group: 'GetMetadataDelta',
    title: 'lists changed blocks in order and within the volume',
    section: 'getmetadatadelta',
    ...NEEDS,
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      const base = (await createSnapshot(driver, volumeId)).snapshotId;
      const target = (await createSnapshot(driver, volumeId)).snapshotId;
      wellFormed(await delta(driver, { base, target, maxResults: 2 }), { maxResults: 2, from: 0n });
    },
  },
];

function allocated(
  { metadata, options }: DriverUnderTest,
  request: { snapshotId: string; startingOffset?: bigint; maxResults?: number },
): Promise<Part[]> {
  const secrets = options.secrets('GetMetadataAllocatedSecret');
  return collected(metadata.getMetadataAllocated({ ...request, secrets }));
}

function delta(
  { metadata, options }: DriverUnderTest,
  { base, target, ...rest }: { base: string; target: string; startingOffset?: bigint; maxResults?: number },
): Promise<Part[]> {
  const secrets = options.secrets('GetMetadataDeltaSecret');
  return collected(
    metadata.getMetadataDelta({ baseSnapshotId: base, targetSnapshotId: target, ...rest, secrets }),
  );
}

async function collected(stream: AsyncIterable<Part>): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

/** The blocks of all parts; fails when the stream breaks a rule of the specification. */
function wellFormed(
  parts: readonly Part[],
  { maxResults, from }: { maxResults: number; from: bigint },
): Part['blockMetadata'] {
  const [first] = parts;
  const blocks = parts.flatMap(({ blockMetadata }) => blockMetadata);
  for (const { blockMetadataType: type, volumeCapacityBytes: capacity, blockMetadata } of parts) {
    expect(type !== BlockMetadataType.UNKNOWN, 'block_metadata_type is UNKNOWN');
    expect(type === first?.blockMetadataType, 'block_metadata_type changes within the stream');
    expect(
      capacity === first?.volumeCapacityBytes,
      `volume_capacity_bytes is ${first?.volumeCapacityBytes}, then ${capacity}`,
    );
    expect(
      maxResults === 0 || blockMetadata.length <= maxResults,
      `${blockMetadata.length} blocks in one message, asked for at most ${maxResults}`,
    );
  }
  let end = 0n;
  for (const [index, { byteOffset, sizeBytes }] of blocks.entries()) {
    const block = `block ${index} (byte_offset ${byteOffset}, size_bytes ${sizeBytes})`;
    expect(sizeBytes > 0n, `${block} is empty`);
    expect(byteOffset >= end, `${block} begins before the end of the one before it, ${end}`);
    expect(byteOffset + sizeBytes > from, `${block} ends before starting_offset ${from}`);
    expect(
      first?.blockMetadataType !== BlockMetadataType.FIXED_LENGTH || sizeBytes === blocks[0]?.sizeBytes,
      `${block} has another size than the first, although they are FIXED_LENGTH`,
    );
    expect(
      byteOffset < (first?.volumeCapacityBytes ?? 0n),
      `${block} begins beyond the volume, which has ${first?.volumeCapacityBytes} bytes`,
    );
    end = byteOffset + sizeBytes;
  }
  return blocks;
}
