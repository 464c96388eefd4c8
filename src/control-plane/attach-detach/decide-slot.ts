// What to do about one volume on one node. Pure: the controller gathers the snapshot and performs the step.

import type { AttachmentState } from '../../csi-plugin/attach/attachment-state.ts';

/** How long a node that cannot be asked may keep a volume from being detached; Kubernetes' own figure. */
export const FORCE_DETACH_AFTER_MS = 6 * 60_000;

export interface SlotSnapshot {
  /** Some pod on the node uses the volume, whether or not it is attached for it. */
  used: boolean;
  /** Attachments that pods on the node need, and how they stand. Empty where the driver attaches nothing. */
  needed: readonly AttachmentState[];
  /** Every attachment of the volume to the node that exists. */
  existing: readonly AttachmentState[];
  /** Other nodes that may have the volume. */
  holders: readonly string[];
  exclusive: boolean;
  node: {
    health: 'ready' | 'unready' | 'gone';
    /** An administrator vouches that nothing runs there any more. */
    outOfService: boolean;
    /** The node says that the volume is mounted, or cannot say that it is not. */
    inUse: boolean;
  };
  /** How long the volume has been unused on a node that was not ready all the while. */
  stuckForMs: number;
}

export type SlotStep =
  | { do: 'nothing' }
  | { do: 'attach' }
  | { do: 'refuse'; holders: readonly string[] }
  | { do: 'detach'; forced: 'no' | 'timeout' | 'out-of-service' }
  /** Looked at again when the node changes, or after `recheckAfterMs`. */
  | { do: 'await-unmount'; recheckAfterMs?: number };

export function decideSlot(snapshot: SlotSnapshot): SlotStep {
  return snapshot.used ? decideUsed(snapshot) : decideUnused(snapshot);
}

function decideUsed({ needed, node, holders, exclusive }: SlotSnapshot): SlotStep {
  // A pod on a node that is gone is about to be deleted; attaching for it would only have to be undone.
  if (node.health === 'gone') return { do: 'nothing' };
  // Being detached: its end wakes the slot, and only then can it be made again.
  const waiting = needed.filter(({ kind }) => kind !== 'attached' && kind !== 'detaching');
  if (waiting.length === 0) return { do: 'nothing' };
  const isNew = waiting.some(({ kind }) => kind === 'absent');
  if (isNew && exclusive && holders.length > 0) return { do: 'refuse', holders };
  return { do: 'attach' };
}

function decideUnused({ existing, node, stuckForMs }: SlotSnapshot): SlotStep {
  if (existing.every(({ kind }) => kind === 'detaching')) return { do: 'nothing' };
  if (!node.inUse) return { do: 'detach', forced: 'no' };
  if (node.outOfService) return { do: 'detach', forced: 'out-of-service' };
  if (node.health === 'ready') return { do: 'await-unmount' };
  if (stuckForMs >= FORCE_DETACH_AFTER_MS) return { do: 'detach', forced: 'timeout' };
  // Rounded up: a remainder of fractions is too short for the clock to advance, and the slot would be rechecked without end.
  return { do: 'await-unmount', recheckAfterMs: Math.ceil(FORCE_DETACH_AFTER_MS - stuckForMs) };
}
