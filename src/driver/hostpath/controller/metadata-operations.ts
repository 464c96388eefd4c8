// GetMetadataAllocated and GetMetadataDelta for snapshots of images. The files stay open during a stream, so that deleting
// a snapshot meanwhile does not disturb it. Changes nothing.

import { BlockMetadataType } from '../../../csi/index.ts';
import type { DriverCall, Secrets, SnapshotMetadataOperations } from '../../driver.ts';
import { refuse } from '../../refuse.ts';
import { checkSecrets, type HostpathCore } from '../core.ts';
import type { SnapshotRecord } from '../state/records.ts';
import type { ImageReader } from '../state/volume-files.ts';
import { changedExtents, type Extent } from './changed-extents.ts';

/** Of one message, unless the caller wants fewer. */
const MAX_RESULTS = 256;

interface MetadataRequest {
  startingOffset: bigint;
  maxResults: number;
  secrets: Secrets;
}

export function metadataOperations(core: HostpathCore): SnapshotMetadataOperations {
  return {
    getMetadataAllocated: (request, call) =>
      stream(core, { request, call, target: request.snapshotId, base: undefined }),
    getMetadataDelta: (request, call) =>
      stream(core, { request, call, target: request.targetSnapshotId, base: request.baseSnapshotId }),
  };
}

async function* stream(
  core: HostpathCore,
  asked: { request: MetadataRequest; call: DriverCall; target: string; base: string | undefined },
) {
  const { request, call } = asked;
  checkSecrets(core, request.secrets);
  const target = imageSnapshot(core, asked.target);
  const base = asked.base === undefined ? undefined : imageSnapshot(core, asked.base);
  if (base) requireOrder(base, target);
  if (request.startingOffset > target.sizeBytes) {
    throw refuse.outOfRange(
      `starting_offset ${request.startingOffset} is beyond the end of snapshot ${target.id}, which has ${target.sizeBytes} bytes`,
    );
  }
  const opened: ImageReader[] = [];
  const open = async ({ id }: SnapshotRecord): Promise<ImageReader> => {
    const reader = await core.files.openImage(core.layout.snapshot(id));
    if (reader === undefined) throw missing(id);
    opened.push(reader);
    return reader;
  };
  try {
    const limit = Math.min(request.maxResults || MAX_RESULTS, MAX_RESULTS);
    const message = (blockMetadata: Extent[]) => ({
      blockMetadataType: BlockMetadataType.VARIABLE_LENGTH,
      volumeCapacityBytes: target.sizeBytes,
      blockMetadata,
    });
    const extents = changedExtents({
      target: await open(target),
      base: base && (await open(base)),
      from: Number(request.startingOffset),
      signal: call.signal,
    });
    let batch: Extent[] = [];
    let sent = 0;
    for await (const extent of extents) {
      batch.push(extent);
      if (batch.length < limit) continue;
      yield message(batch);
      sent++;
      batch = [];
    }
    // Also without any extent, so that the caller learns the capacity.
    if (batch.length > 0 || sent === 0) yield message(batch);
  } finally {
    await Promise.all(opened.map((reader) => reader.close()));
  }
}

const missing = (id: string) => refuse.notFound(`snapshot ${id} does not exist`);

function imageSnapshot(core: HostpathCore, id: string): SnapshotRecord {
  const snapshot = core.records.snapshots.get(id);
  if (snapshot === undefined || snapshot.state === 'deleting') throw missing(id);
  if (snapshot.state === 'creating') {
    throw refuse.unavailable(`snapshot ${id} is still being cut; retry when it is ready`);
  }
  if (snapshot.backing === 'directory') {
    throw refuse.failedPrecondition(
      `snapshot ${id} is of a directory, which has no blocks; make a full backup, or use volumes with backing: image`,
    );
  }
  return snapshot;
}

function requireOrder(base: SnapshotRecord, target: SnapshotRecord): void {
  if (base.sourceVolumeId !== target.sourceVolumeId) {
    throw refuse.invalidArgument(
      `snapshots ${base.id} and ${target.id} are of different volumes, ${base.sourceVolumeId} and ${target.sourceVolumeId}`,
    );
  }
  if (base.createdAt > target.createdAt) {
    throw refuse.invalidArgument(`base snapshot ${base.id} is newer than target snapshot ${target.id}`);
  }
}
