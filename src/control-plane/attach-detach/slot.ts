// A slot is one volume on one node: the key of the attach-detach loop. The volume is named as drivers see it (driver
// and handle), because that is what is attached: two PersistentVolumes with the same handle share a slot.

import { uniqueVolumeName } from '../../api/volumes.ts';
import type { Branded, VolumeNames } from '../../csi/names/driver-name.ts';

/** `uniqueVolumeName`, or `pv:NAME` where nothing tells the handle any more. */
export type SlotVolume = Branded<'SlotVolume'>;

export interface Slot {
  nodeName: string;
  volumeId: SlotVolume;
}

export function slotVolume({ driver, volumeHandle }: VolumeNames): SlotVolume {
  return uniqueVolumeName(driver, volumeHandle) as SlotVolume;
}

/** Node names hold no space. */
export function slotKey(nodeName: string, volumeId: SlotVolume): string {
  return `${nodeName} ${volumeId}`;
}

export function slotOf(key: string): Slot {
  const space = key.indexOf(' ');
  return { nodeName: key.slice(0, space), volumeId: key.slice(space + 1) as SlotVolume };
}
