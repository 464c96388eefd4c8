// Names and pretended topology of a cluster's nodes. Two nodes share a zone, so that a volume can move between them; the next two
// are in another zone. Each node is a rack of its own. Pure.

import type { Segment } from '../api/topology.ts';

export interface PlannedNode {
  readonly name: string;
  /** On the Node object. */
  readonly labels: Readonly<Record<string, string>>;
  /** What hostpath says of the node: where its volumes can be reached from. */
  readonly segments: Segment;
}

const NODES_PER_ZONE = 2;

/** The topology key of hostpath. Nodes may label themselves under its prefix. */
export const HOSTPATH_ZONE = 'topology.hostpath.csi.berth/zone';

export function planNodes(count: number): PlannedNode[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `node-${index + 1}`;
    const zone = `zone-${letters(Math.floor(index / NODES_PER_ZONE))}`;
    return {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'topology.kubernetes.io/zone': zone,
        'topology.hostpath.csi.berth/rack': `rack-${index + 1}`,
      },
      segments: { [HOSTPATH_ZONE]: zone },
    };
  });
}

/** a … z, aa, ab …: as columns of a spreadsheet. */
function letters(index: number): string {
  const rest = Math.floor(index / 26);
  const letter = String.fromCharCode(97 + (index % 26));
  return rest === 0 ? letter : letters(rest - 1) + letter;
}
