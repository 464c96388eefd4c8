// Whether the volume that the driver answers with is the one that was asked for. A volume that is not is never handed
// to the user; whether it may be deleted depends on whose it is. Pure.

import type { Volume, VolumeContentSource } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { parseVolumeHandle, type VolumeHandle } from '../../../csi/names/driver-name.ts';
import type { ContentSource, VolumePlan } from './plan-volume.ts';

export interface CheckedVolume {
  volume: Volume;
  handle: VolumeHandle;
  capacityBytes: bigint;
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
  const source = sourceProblem(plan.source, volume.contentSource);
  if (source !== undefined) return { kind: 'useless', handle, why: source };
  // 0 means that the driver does not say.
  return {
    kind: 'accepted',
    volume,
    handle,
    capacityBytes: capacityBytes === 0n ? plan.capacityBytes : capacityBytes,
  };
}

function sourceProblem(
  asked: ContentSource | undefined,
  given: VolumeContentSource | undefined,
): string | undefined {
  if (!asked) return undefined;
  const type = given?.type;
  if (type?.case === undefined)
    return `the volume was not made from ${asked.kind} ${asked.id}: volume content source missing`;
  const id = type.case === 'snapshot' ? type.value.snapshotId : type.value.volumeId;
  if (type.case === asked.kind && id === asked.id) return undefined;
  return `the volume was made from ${type.case} ${id} instead of ${asked.kind} ${asked.id}`;
}
