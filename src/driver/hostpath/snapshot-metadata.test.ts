// GetMetadataAllocated and GetMetadataDelta of hostpath, on real images.

import assert from 'node:assert/strict';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  capability,
  codeOf,
  MiB,
  needsRoot,
  startHostpath,
  volumeRequest,
} from './testing/hostpath-fixture.ts';

const BLOCK = 4096n;

/** A raw volume of 16 MiB, and what a test does with it. */
async function imageWorld(t: TestContext) {
  const driver = await startHostpath(t);
  const { controller, metadata } = driver;
  const made: string[] = [];
  const create = async (
    name: string,
    parameters: Record<string, string> = {},
    type: 'block' | 'mount' = 'block',
  ) => {
    const { volume } = await controller.createVolume(
      volumeRequest({ name, parameters, volumeCapabilities: [capability({ type })] }),
    );
    return volume?.volumeId ?? '';
  };
  const volumeId = await create('raw');
  const snapshotOf = async (name: string, sourceVolumeId = volumeId) => {
    const { snapshot } = await controller.createSnapshot({ name, sourceVolumeId });
    made.push(snapshot?.snapshotId ?? '');
    return snapshot?.snapshotId ?? '';
  };
  const write = async (at: bigint, bytes: Buffer, id = volumeId) => {
    const file = await open(join(driver.stateDir, 'volumes', id), 'r+');
    await file.write(bytes, 0, bytes.length, Number(at));
    await file.close();
  };
  const end = async (...volumes: string[]) => {
    for (const snapshotId of made) await controller.deleteSnapshot({ snapshotId });
    for (const id of [volumeId, ...volumes]) await controller.deleteVolume({ volumeId: id });
  };
  return { driver, controller, metadata, volumeId, create, snapshotOf, write, end };
}

interface Part {
  volumeCapacityBytes: bigint;
  blockMetadata: readonly { byteOffset: bigint; sizeBytes: bigint }[];
}

async function parts(stream: AsyncIterable<Part>): Promise<Part[]> {
  const all: Part[] = [];
  for await (const part of stream) all.push(part);
  return all;
}

const extents = (all: Part[]) =>
  all.flatMap(({ blockMetadata }) =>
    blockMetadata.map(({ byteOffset, sizeBytes }) => [byteOffset, sizeBytes]),
  );

describe('snapshot metadata of hostpath', { skip: needsRoot }, () => {
  it('[CBT-1] lists the blocks with data, and those that differ from an earlier snapshot', async (t) => {
    const world = await imageWorld(t);
    await world.write(0n, Buffer.from('head'));
    // Across the chunks in which the image is read, and up to its last byte.
    await world.write(MiB - BLOCK, Buffer.alloc(2 * Number(BLOCK), 1));
    await world.write(16n * MiB - 1n, Buffer.from('!'));
    const base = await world.snapshotOf('base');
    await world.write(5n, Buffer.from('more'));
    await world.write(8n * MiB, Buffer.from('new'));
    await world.write(MiB, Buffer.alloc(Number(BLOCK)));
    const target = await world.snapshotOf('target');

    const allocated = await parts(world.metadata.getMetadataAllocated({ snapshotId: base }));
    assert.deepEqual(extents(allocated), [
      [0n, BLOCK],
      [MiB - BLOCK, 2n * BLOCK],
      [16n * MiB - BLOCK, BLOCK],
    ]);
    assert.equal(allocated[0]?.volumeCapacityBytes, 16n * MiB);
    const delta = { baseSnapshotId: base, targetSnapshotId: target };
    assert.deepEqual(extents(await parts(world.metadata.getMetadataDelta(delta))), [
      [0n, BLOCK],
      [MiB, BLOCK],
      [8n * MiB, BLOCK],
    ]);
    const rest = await parts(
      world.metadata.getMetadataDelta({ ...delta, startingOffset: BLOCK, maxResults: 1 }),
    );
    assert.deepEqual(
      rest.map((part) => extents([part])),
      [[[MiB, BLOCK]], [[8n * MiB, BLOCK]]],
    );
    const same = await parts(
      world.metadata.getMetadataDelta({ baseSnapshotId: base, targetSnapshotId: base }),
    );
    assert.deepEqual([same.length, extents(same), same[0]?.volumeCapacityBytes], [1, [], 16n * MiB]);
    await world.end();
  });

  it('[CBT-1] counts everything beyond the end of an older, smaller snapshot as changed', async (t) => {
    const world = await imageWorld(t);
    const base = await world.snapshotOf('small');
    await world.controller.controllerExpandVolume({
      volumeId: world.volumeId,
      capacityRange: { requiredBytes: 20n * MiB },
      volumeCapability: capability({ type: 'block' }),
    });
    const target = await world.snapshotOf('large');
    const delta = await parts(
      world.metadata.getMetadataDelta({ baseSnapshotId: base, targetSnapshotId: target }),
    );
    assert.deepEqual(extents(delta), [[16n * MiB, 4n * MiB]]);
    assert.equal(delta[0]?.volumeCapacityBytes, 20n * MiB);
    await world.end();
  });

  it('[CBT-1] finishes a stream whose snapshot is deleted meanwhile', async (t) => {
    const world = await imageWorld(t);
    await world.write(0n, Buffer.from('a'));
    await world.write(MiB, Buffer.from('b'));
    const snapshotId = await world.snapshotOf('short-lived');
    const seen: Part[] = [];
    for await (const part of world.metadata.getMetadataAllocated({ snapshotId, maxResults: 1 })) {
      seen.push(part);
      await world.controller.deleteSnapshot({ snapshotId });
    }
    assert.deepEqual(extents(seen), [
      [0n, BLOCK],
      [MiB, BLOCK],
    ]);
    await world.end();
  });

  it('[CBT-1] says with a code why it cannot', async (t) => {
    const world = await imageWorld(t);
    const { metadata } = world;
    const [base, other] = [await world.snapshotOf('one'), await world.create('other')];
    const later = await world.snapshotOf('later');
    const stranger = await world.snapshotOf('of another volume', other);
    const directory = await world.create('directory', {}, 'mount');
    const plain = await world.snapshotOf('of a directory', directory);
    const cases: [string, AsyncIterable<Part>][] = [
      ['INVALID_ARGUMENT', metadata.getMetadataAllocated({ snapshotId: '' })],
      ['INVALID_ARGUMENT', metadata.getMetadataAllocated({ snapshotId: base, maxResults: -1 })],
      ['NOT_FOUND', metadata.getMetadataAllocated({ snapshotId: 'none' })],
      ['OUT_OF_RANGE', metadata.getMetadataAllocated({ snapshotId: base, startingOffset: -1n })],
      ['OUT_OF_RANGE', metadata.getMetadataAllocated({ snapshotId: base, startingOffset: 16n * MiB + 1n })],
      ['FAILED_PRECONDITION', metadata.getMetadataAllocated({ snapshotId: plain })],
      ['NOT_FOUND', metadata.getMetadataDelta({ baseSnapshotId: 'none', targetSnapshotId: later })],
      ['INVALID_ARGUMENT', metadata.getMetadataDelta({ baseSnapshotId: stranger, targetSnapshotId: later })],
      ['INVALID_ARGUMENT', metadata.getMetadataDelta({ baseSnapshotId: later, targetSnapshotId: base })],
    ];
    for (const [index, [code, stream]] of cases.entries()) {
      assert.equal(await codeOf(parts(stream)), code, `case ${index}`);
    }
    // The end itself is where an interrupted caller continues after the last byte.
    const atEnd = metadata.getMetadataAllocated({ snapshotId: base, startingOffset: 16n * MiB });
    assert.deepEqual(extents(await parts(atEnd)), []);
    await world.end(other, directory);
  });
});
