// What a Node object says about its volumes and about itself. Pure.

import type { Node } from '../../api/kinds.ts';
import { uniqueVolumeName } from '../../api/volumes.ts';
import { TAINT_OUT_OF_SERVICE } from '../../api/well-known.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { SlotVolume } from './slot.ts';

export type NodeHealth = 'ready' | 'unready' | 'gone';

export interface NodeState {
  health: NodeHealth;
  /** An administrator vouches that nothing runs there any more. */
  outOfService: boolean;
  /** The node says that the volume is mounted, or cannot say that it is not. */
  inUse: boolean;
}

export function nodeStateOf(node: Node | undefined, volumeId: SlotVolume, driver: DriverName): NodeState {
  return {
    health: healthOf(node),
    outOfService: isOutOfService(node),
    inUse: reportsInUse(node, volumeId, driver),
  };
}

export function healthOf(node: Node | undefined): NodeHealth {
  if (!node) return 'gone';
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? 'ready' : 'unready';
}

export function isOutOfService(node: Node | undefined): boolean {
  return node?.spec?.taints?.some(({ key }) => key === TAINT_OUT_OF_SERVICE) ?? false;
}

/**
 * Whether the node may have the volume mounted. A Node that is gone, or was created again and has no status yet, cannot
 * deny it. A volume whose handle is no longer known may be any volume of its driver.
 */
export function reportsInUse(node: Node | undefined, volumeId: SlotVolume, driver: DriverName): boolean {
  if (!node?.status?.conditions?.length) return true;
  const inUse = node.status?.volumesInUse ?? [];
  if (volumeId.startsWith('pv:')) return inUse.some((name) => name.startsWith(uniqueVolumeName(driver, '')));
  return inUse.includes(volumeId);
}
