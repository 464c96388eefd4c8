// vol_data.json: the data that a restarted node needs to complete or undo an operation without the API. Written before
// the first call to the driver, removed after everything is undone. The first fields are the kubelet's.

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
  /** The kubelet's: the SELinux label with which it is mounted. */
  seLinuxMountContext?: string;
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
    ...(volume.seLinuxLabel && { seLinuxMountContext: volume.seLinuxLabel }),
  };
}

export function recordText(record: VolumeRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/** Undefined for a truncated or foreign record. Records of the kubelet are read too. */
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

/** The fields of the volume that tear-down needs. */
export type KnownVolume = Pick<
  MountableVolume,
  'driver' | 'handle' | 'specName' | 'block' | 'lifecycle' | 'attachedAs' | 'seLinuxLabel'
>;

export function volumeOf(record: VolumeRecord): KnownVolume {
  return {
    driver: record.driverName,
    handle: record.volumeHandle,
    specName: record.specVolID,
    block: record.volumeMode === 'Block',
    lifecycle: record.volumeLifecycleMode,
    ...(record.attachedAs && { attachedAs: record.attachedAs }),
    ...(record.seLinuxMountContext && { seLinuxLabel: record.seLinuxMountContext }),
  };
}
