// `berth check` of group snapshots and snapshot metadata, against drivers that are wrong in one way: each is told so, by the
// check that is about it. The driver is hostpath in memory with one operation replaced.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { BlockMetadataType } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import type {
  Driver,
  GroupControllerOperations,
  SnapshotMetadataOperations,
} from '../../src/driver/driver.ts';
import { createHostpath } from '../../src/driver/hostpath/create-hostpath.ts';
import { processLocks } from '../../src/driver/hostpath/state/host-locks.ts';
import { memoryFiles, memoryFilesystemTools } from '../../src/driver/hostpath/state/memory-files.ts';
import { serveDriver } from '../../src/driver/serve-driver.ts';
import { openStateStore } from '../../src/driver/state/state-store.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { memoryMounter } from '../../src/runtime/mount/memory-mounter.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { runBerth } from '../run-berth.ts';

type Right = {
  groupController: GroupControllerOperations;
  snapshotMetadata: SnapshotMetadataOperations;
};

async function failures(t: TestContext, flaw: (right: Right) => Partial<Right>): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'cs-'));
  const hostpath = await createHostpath({
    stateDir: '/state',
    clock: realClock,
    random: realRandom,
    log: silentLog,
    mounter: memoryMounter(),
    files: memoryFiles(),
    tools: memoryFilesystemTools(),
    store: openStateStore(':memory:'),
    locks: processLocks(),
  });
  const right = hostpath.driver({ controller: true, node: { nodeId: 'n1' } });
  const driver: Driver = { ...right, ...flaw(right as Right) };
  const endpoint = `unix://${directory}/csi.sock`;
  const server = await serveDriver(driver, { endpoint, clock: realClock, log: silentLog });
  t.after(async () => {
    await server.stop(0);
    hostpath.close();
    await rm(directory, { recursive: true, force: true });
  });
  const only = '--only=Group|Metadata|of a group';
  const { stdout } = await runBerth(['check', endpoint, '--block', '--size=1Mi', only, '-o', 'json']);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.ok(lines.filter(({ state }) => state === 'passed').length >= 5, stdout);
  return lines
    .filter(({ state }) => state === 'failed')
    .map(({ group, title, why }) => `${group}: ${title}: ${why}`);
}

test('[GRP-1] [CBT-1] hostpath in memory passes the checks of groups and snapshot metadata', async (t) => {
  assert.deepEqual(await failures(t, () => ({})), []);
});

const metadata = { blockMetadataType: BlockMetadataType.FIXED_LENGTH, volumeCapacityBytes: 1n << 20n };
const blocks = (...all: [bigint, bigint][]) =>
  all.map(([byteOffset, sizeBytes]) => ({ byteOffset, sizeBytes }));

/** Answers like hostpath where it refuses, and with these parts where it does not. */
function streaming(
  right: Right,
  parts: (request: { startingOffset: bigint; maxResults: number }) => object[],
): SnapshotMetadataOperations {
  const { getMetadataAllocated } = right.snapshotMetadata;
  return {
    ...right.snapshotMetadata,
    async *getMetadataAllocated(request, call) {
      for await (const _ of getMetadataAllocated(request, call)) yield* parts(request);
    },
  };
}

let made = 0;
const flaws: [name: string, flaw: (right: Right) => Partial<Right>, told: RegExp][] = [
  [
    'makes a group anew for each call',
    ({ groupController }) => ({
      groupController: {
        ...groupController,
        createVolumeGroupSnapshot: (request, call) =>
          groupController.createVolumeGroupSnapshot(
            { ...request, name: request.name && `${request.name}-${++made}` },
            call,
          ),
      },
    }),
    /CreateVolumeGroupSnapshot: is idempotent.*: one name, two groups/,
  ],
  [
    'snapshots only the first volume',
    ({ groupController }) => ({
      groupController: {
        ...groupController,
        createVolumeGroupSnapshot: (request, call) =>
          groupController.createVolumeGroupSnapshot(
            { ...request, sourceVolumeIds: request.sourceVolumeIds.slice(0, 1) },
            call,
          ),
      },
    }),
    /CreateVolumeGroupSnapshot: is idempotent.*: requested snapshots of \[.+,.+\], got those of \[[^,]+\]/,
  ],
  [
    'keeps the snapshots of a deleted group',
    ({ groupController }) => ({
      groupController: { ...groupController, deleteVolumeGroupSnapshot: () => ({}) },
    }),
    /DeleteVolumeGroupSnapshot: .*: snapshot .+ is still listed after its group was deleted/,
  ],
  [
    'knows every group',
    ({ groupController }) => ({
      groupController: {
        ...groupController,
        getVolumeGroupSnapshot: ({ groupSnapshotId }) => ({
          groupSnapshot: { groupSnapshotId, readyToUse: true, snapshots: [] },
        }),
      },
    }),
    /GetVolumeGroupSnapshot: .*: the group was made of \[.+\], and is read with \[\]/,
  ],
  [
    'lists blocks out of order',
    (right) => ({
      snapshotMetadata: streaming(right, () => [
        { ...metadata, blockMetadata: blocks([8192n, 4096n], [0n, 4096n]) },
      ]),
    }),
    /GetMetadataAllocated: lists blocks in order.*: block 1 .* begins before the end of the one before it/,
  ],
  [
    'sends more blocks at once than were asked for',
    (right) => ({
      snapshotMetadata: streaming(right, () => [
        { ...metadata, blockMetadata: blocks([0n, 4096n], [8192n, 4096n]) },
      ]),
    }),
    /2 blocks in one message, asked for at most 1/,
  ],
  [
    'ignores the offset',
    (right) => ({
      snapshotMetadata: streaming(right, () => [
        { ...metadata, blockMetadata: blocks([0n, 4096n]) },
        { ...metadata, blockMetadata: blocks([4096n, 4096n]) },
      ]),
    }),
    /block 0 .* ends before starting_offset/,
  ],
  [
    'changes its mind about the capacity',
    (right) => ({
      snapshotMetadata: streaming(right, () => [metadata, { ...metadata, volumeCapacityBytes: 1n }]),
    }),
    /volume_capacity_bytes is 1048576, then 1/,
  ],
  [
    'calls blocks of two sizes FIXED_LENGTH',
    (right) => ({
      snapshotMetadata: streaming(right, () => [
        { ...metadata, blockMetadata: blocks([0n, 4096n]) },
        { ...metadata, blockMetadata: blocks([4096n, 8192n]) },
      ]),
    }),
    /block 1 .* has another size than the first, although they are FIXED_LENGTH/,
  ],
  [
    'answers for any snapshot',
    ({ snapshotMetadata }) => ({
      snapshotMetadata: {
        ...snapshotMetadata,
        async *getMetadataDelta() {
          yield metadata;
        },
      },
    }),
    /GetMetadataDelta: rejects .*: a base that does not exist: expected gRPC code 5 \(NOT_FOUND\), but the call succeeded/,
  ],
];
for (const [name, flaw, told] of flaws) {
  test(`a driver that ${name} is told so`, async (t) => {
    const found = await failures(t, flaw);
    assert.ok(
      found.some((line) => told.test(line)),
      found.join('\n'),
    );
  });
}
