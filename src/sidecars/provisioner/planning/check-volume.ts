// Whether the volume in the driver's response is the one that was requested. A wrong volume is never handed to the
// user; whether it may be deleted depends on its owner. Pure.

import type { Volume, VolumeContentSource } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { parseVolumeHandle, type VolumeHandle } from '../../../csi/names/driver-name.ts';
import type { ContentSource, VolumePlan } from './plan-volume.ts';

export interface CheckedVolume {
  volume: Volume;
  handle: VolumeHandle;
  capacityBytes: bigint;
  /** To be logged. */
  warning?: string;
}

export type VolumeCheck =
  | ({ kind: 'accepted' } & CheckedVolume)
  /** Created for this claim, but unusable: delete it. */
  | { kind: 'useless'; handle: VolumeHandle; why: string }
  /** It belongs to another PersistentVolume: do not touch it. */
  | { kind: 'not-ours'; why: string }
  /** A volume may exist, but its ID is unknown: call again. */
  | { kind: 'nameless'; why: string };

/** `ownerOf` returns the PersistentVolume that already has a handle, other than the one being created. */
export function checkVolume(
  volume: Volume | undefined,
  plan: Pick<VolumePlan, 'capacityBytes' | 'source'>,
  ownerOf: (handle: VolumeHandle) => string | undefined,
): VolumeCheck {
  if (!volume || volume.volumeId === '') {
    return { kind: 'nameless', why: 'the driver answered CreateVolume without a volume ID' };
  }
  const handle = parseVolumeHandle(volume.volumeId);
  const owner = ownerOf(handle);
  if (owner !== undefined) {
    const why = `the driver answered with volume ${handle}, which already belongs to PersistentVolume ${owner}; it is not touched`;
    return { kind: 'not-ours', why };
  }
  const { capacityBytes } = volume;
  if (capacityBytes !== 0n && capacityBytes < plan.capacityBytes) {
    const why = `created volume capacity ${capacityBytes} is less than requested capacity ${plan.capacityBytes}`;
    return { kind: 'useless', handle, why };
  }
  const source = checkSource(plan.source, volume.contentSource);
  if ('problem' in source) return { kind: 'useless', handle, why: source.problem };
  return {
    kind: 'accepted',
    volume,
    handle,
    // 0 means unknown.
    capacityBytes: capacityBytes === 0n ? plan.capacityBytes : capacityBytes,
    ...source,
  };
}

/** An empty volume, or one from a source of another kind, is unusable. An ID may have several spellings. */
function checkSource(
  asked: ContentSource | undefined,
  given: VolumeContentSource | undefined,
): { problem: string } | { warning?: string } {
  if (!asked) return {};
  const wanted = `${asked.kind} ${asked.id}`;
  const type = given?.type;
  if (type?.case === undefined) {
    return { problem: `the volume was not created from ${wanted}: volume content source missing` };
  }
  const id = type.case === 'snapshot' ? type.value.snapshotId : type.value.volumeId;
  const made = `the volume was created from ${type.case} ${id}`;
  if (type.case !== asked.kind) return { problem: `${made} instead of ${wanted}` };
  return id === asked.id ? {} : { warning: `the driver reports that ${made}; requested was ${wanted}` };
}
