import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CsiError } from '../../csi/csi-error.ts';
import { BlockMetadataType } from '../../csi/generated/csi/v1/csi_pb.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import type { GrpcCode } from '../../wire/grpc/grpc-code.ts';
import { relay } from './relay.ts';

const common = { blockMetadataType: BlockMetadataType.FIXED_LENGTH, volumeCapacityBytes: 1n << 20n };

/** Parts with the blocks at these offsets, of 10 bytes each, then the error. */
async function* driver(parts: readonly bigint[][], error?: unknown) {
  for (const offsets of parts)
    yield { ...common, blockMetadata: offsets.map((byteOffset) => ({ byteOffset, sizeBytes: 10n })) };
  if (error) throw error;
}

async function relayed(stream: ReturnType<typeof driver>): Promise<bigint[]> {
  const all: bigint[] = [];
  for await (const part of relay(stream, { driver: parseDriverName('d.example'), startingOffset: 5n }))
    all.push(...part.blockMetadata.map(({ byteOffset }) => byteOffset));
  return all;
}

test('[CBT-1] the driver’s parts are passed on', async () => {
  assert.deepEqual(await relayed(driver([[5n, 20n], [], [40n]])), [5n, 20n, 40n]);
});

const errors: { name: string; parts: bigint[][]; code: GrpcCode; then: string; says: RegExp }[] = [
  {
    name: 'at once: nothing to continue from',
    parts: [],
    code: 'OUT_OF_RANGE',
    then: 'OUT_OF_RANGE',
    says: /^driver d.example: no$/,
  },
  {
    name: 'after some blocks: continue after the last',
    parts: [[5n, 20n], []],
    code: 'UNAVAILABLE',
    then: 'UNAVAILABLE',
    says: /: no; to continue, ask again with starting_offset 30$/,
  },
  { name: 'a code that says nothing is INTERNAL', parts: [], code: 'UNKNOWN', then: 'INTERNAL', says: /no/ },
];
for (const { name, parts, code, then, says } of errors) {
  test(`[CBT-1] an error of the driver's stream, ${name}`, async () => {
    const failing = relayed(driver(parts, new CsiError({ code, message: 'no' })));
    await assert.rejects(failing, (error) => {
      assert.ok(error instanceof CsiError);
      assert.equal(error.code, then);
      assert.match(error.description, says);
      return true;
    });
  });
}

test('[CBT-1] an error of our own is not taken for the driver’s', async () => {
  const own = new TypeError('a bug');
  await assert.rejects(relayed(driver([], own)), (error) => error === own);
});
