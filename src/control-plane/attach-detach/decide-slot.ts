// What to do about one volume on one node. Pure: the controller gathers the snapshot and performs the step.

import type { AttachmentState } from '../../csi-plugin/attach/attachment-state.ts';
import type { NodeState } from './node-state.ts';

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
  node: NodeState;
  /** How long the volume has been unused on a node that was not ready all the while. */
  stuckForMs: number;
}

/** Why a volume is detached although its node may have it mounted. */
export type Forced = 'no' | 'timeout' | 'out-of-service';

export type SlotStep =
  | { do: 'nothing' }
  | { do: 'attach' }
  | { do: 'refuse'; holders: readonly string[] }
  | { do: 'detach'; forced: Forced }
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

/** Whether a detach may go on with what is known of the node since: one that came back unmounts the volume itself. */
export function mayDetach(forced: Forced, { health, outOfService, inUse }: NodeState): boolean {
  if (!inUse) return true;
  switch (forced) {
    case 'no':
      return false;
    case 'timeout':
      return health !== 'ready';
    case 'out-of-service':
      return outOfService;
    default:
      return forced satisfies never;
  }
}
