// What a Node object says about its volumes and about itself. Pure.

import type { Node } from '../../api/kinds.ts';
import { sameJson } from '../../api/same-json.ts';
import { uniqueVolumeName } from '../../api/volumes.ts';
import { TAINT_OUT_OF_SERVICE } from '../../api/well-known.ts';

export type NodeHealth = 'ready' | 'unready' | 'gone';

export function healthOf(node: Node | undefined): NodeHealth {
  if (!node) return 'gone';
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? 'ready' : 'unready';
}

export function isOutOfService(node: Node | undefined): boolean {
  return node?.spec?.taints?.some(({ key }) => key === TAINT_OUT_OF_SERVICE) ?? false;
}

/**
 * Whether the node has the volume mounted. A node that is gone, or was made anew and has not said anything of itself
 * yet, cannot deny it, and of a volume whose handle nobody knows any more any volume of its driver may be the one.
 */
export function reportsInUse(node: Node | undefined, volumeId: string, driver: string): boolean {
  if (!node?.status?.conditions?.length) return true;
  const inUse = node.status?.volumesInUse ?? [];
  if (volumeId.startsWith('pv:')) return inUse.some((name) => name.startsWith(uniqueVolumeName(driver, '')));
  return inUse.includes(volumeId);
}

/** What differs between two reports of a node, as far as attach-detach looks at it: nodes report often. */
export interface NodeChange {
  /** Something that concerns each volume there. */
  vitals: boolean;
  /** Volumes that it began or ceased to use. */
  inUse: ReadonlySet<string>;
  attached: boolean;
}

const NONE: ReadonlySet<string> = new Set();

export function nodeChange(before: Node, after: Node): NodeChange {
  const [was, is] = [before.status?.volumesInUse, after.status?.volumesInUse];
  return {
    vitals:
      healthOf(before) !== healthOf(after) ||
      isOutOfService(before) !== isOutOfService(after) ||
      !before.status?.conditions?.length !== !after.status?.conditions?.length,
    inUse: was === is ? NONE : inOneOf(was ?? [], is ?? []),
    attached: !sameJson(before.status?.volumesAttached, after.status?.volumesAttached),
  };
}

function inOneOf(left: readonly string[], right: readonly string[]): ReadonlySet<string> {
  const found = new Set(left);
  for (const each of right) if (!found.delete(each)) found.add(each);
  return found;
}
