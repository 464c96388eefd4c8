// Whether the volume that the driver answers with is the one that was asked for. A volume that is not is never handed
// to the user; whether it may be deleted depends on whose it is. Pure.

import type { Volume, VolumeContentSource } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { parseVolumeHandle, type VolumeHandle } from '../../../csi/names/driver-name.ts';
import type { ContentSource, VolumePlan } from './plan-volume.ts';

export interface CheckedVolume {
  volume: Volume;
  handle: VolumeHandle;
  capacityBytes: bigint;
  /** Worth a line in the log. */
  warning?: string;
}

export type VolumeCheck =
  | ({ kind: 'accepted' } & CheckedVolume)
  /** Made for this claim and of no use to it: delete it. */
  | { kind: 'useless'; handle: VolumeHandle; why: string }
  /** It belongs to somebody else: leave it alone. */
  | { kind: 'not-ours'; why: string }
  /** There may be a volume and there is no way to name it: ask again. */
  | { kind: 'nameless'; why: string };

/** `ownerOf` gives the PersistentVolume that already has a handle, other than the one being made. */
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
    const why = `the driver answered with volume ${handle}, which already belongs to PersistentVolume ${owner}; it is left alone`;
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
    // 0 means that the driver does not say.
    capacityBytes: capacityBytes === 0n ? plan.capacityBytes : capacityBytes,
    ...source,
  };
}

/** A volume made from nothing, or from a source of another kind, is of no use. An ID may have several spellings. */
function checkSource(
  asked: ContentSource | undefined,
  given: VolumeContentSource | undefined,
): { problem: string } | { warning?: string } {
  if (!asked) return {};
  const wanted = `${asked.kind} ${asked.id}`;
  const type = given?.type;
  if (type?.case === undefined) {
    return { problem: `the volume was not made from ${wanted}: volume content source missing` };
  }
  const id = type.case === 'snapshot' ? type.value.snapshotId : type.value.volumeId;
  const made = `the volume was made from ${type.case} ${id}`;
  if (type.case !== asked.kind) return { problem: `${made} instead of ${wanted}` };
  return id === asked.id ? {} : { warning: `the driver says that ${made}, asked for ${wanted}` };
}
