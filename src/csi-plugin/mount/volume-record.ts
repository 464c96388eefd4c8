// vol_data.json: what a restarted node needs to finish or undo an operation when nobody can be asked any more. Written
// before the driver is first called, removed after everything is undone. The first fields are the kubelet's.

import type { DriverName, VolumeHandle } from '../../csi/names/driver-name.ts';
import type { MountableVolume } from './mountable-volume.ts';

export interface VolumeRecord {
  driverName: DriverName;
  volumeHandle: VolumeHandle;
  specVolID: string;
  nodeName: string;
  volumeLifecycleMode: 'Persistent' | 'Ephemeral';
  volumeMode: 'Filesystem' | 'Block';
  /** Absent in the record of a staged volume. */
  podUid?: string;
  attachedAs?: MountableVolume['attachedAs'];
}

export function recordOf(volume: MountableVolume, nodeName: string, podUid?: string): VolumeRecord {
  return {
    driverName: volume.driver,
    volumeHandle: volume.handle,
    specVolID: volume.specName,
    nodeName,
    volumeLifecycleMode: volume.lifecycle,
    volumeMode: volume.block ? 'Block' : 'Filesystem',
    ...(podUid !== undefined && { podUid }),
    ...(volume.attachedAs && { attachedAs: volume.attachedAs }),
  };
}

export function recordText(record: VolumeRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/** Undefined for what is no such record: torn, foreign, or written by something else. The kubelet's own are read too. */
export function parseRecord(text: string | undefined): VolumeRecord | undefined {
  if (text === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const record = parsed as Partial<VolumeRecord>;
  const { driverName, volumeHandle } = record;
  if (typeof driverName !== 'string' || typeof volumeHandle !== 'string') return undefined;
  if (driverName === '' || volumeHandle === '') return undefined;
  return {
    ...record,
    driverName,
    volumeHandle,
    specVolID: typeof record.specVolID === 'string' ? record.specVolID : '',
    nodeName: typeof record.nodeName === 'string' ? record.nodeName : '',
    volumeLifecycleMode: record.volumeLifecycleMode === 'Ephemeral' ? 'Ephemeral' : 'Persistent',
    volumeMode: record.volumeMode === 'Block' ? 'Block' : 'Filesystem',
  };
}

/** As much of the volume as tearing it down takes. */
export type KnownVolume = Pick<
  MountableVolume,
  'driver' | 'handle' | 'specName' | 'block' | 'lifecycle' | 'attachedAs'
>;

export function volumeOf(record: VolumeRecord): KnownVolume {
  return {
    driver: record.driverName,
    handle: record.volumeHandle,
    specName: record.specVolID,
    block: record.volumeMode === 'Block',
    lifecycle: record.volumeLifecycleMode,
    ...(record.attachedAs && { attachedAs: record.attachedAs }),
  };
}
