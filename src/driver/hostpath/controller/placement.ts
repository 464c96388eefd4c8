// Placement and free capacity. The topology segments are those of the known nodes; free capacity is the configured
// limit less the allocated sizes, and at most the free space of the disk. Read-only.

import type { TopologyRequirement } from '../../../csi/index.ts';
import { refuse } from '../../refuse.ts';
import type { HostpathCore } from '../core.ts';

export type Segments = Record<string, string>;

/** The distinct segments of all nodes, in a fixed order. Empty if no node has any: then there is no topology. */
function knownSegments(core: HostpathCore): Segments[] {
  const bySpelling = new Map<string, Segments>();
  for (const { record } of core.records.nodes.list()) {
    if (Object.keys(record.topology).length > 0) bySpelling.set(spelling(record.topology), record.topology);
  }
  return [...bySpelling.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, segments]) => segments);
}

/** RESOURCE_EXHAUSTED, which lets the scheduler try another node, if no allowed segment has enough capacity. */
export function placeVolume(
  core: HostpathCore,
  sizeBytes: bigint,
  requirement: TopologyRequirement | undefined,
): Segments | undefined {
  const known = knownSegments(core);
  const room = (segments: Segments | undefined) => freeBytes(core, segments) ?? sizeBytes;
  if (known.length === 0) {
    if (room(undefined) < sizeBytes) throw noRoom(sizeBytes, room(undefined));
    return undefined;
  }
  const asked = [...(requirement?.preferred ?? []), ...(requirement?.requisite ?? [])].map(
    ({ segments }) => segments,
  );
  const candidates =
    asked.length === 0 ? known : asked.flatMap((wanted) => known.filter((has) => contains(has, wanted)));
  if (candidates.length === 0) {
    throw refuse.resourceExhausted(
      `no node is in ${asked.map(spelling).join(' or ')}; nodes are in ${known.map(spelling).join(', ')}`,
    );
  }
  const chosen = candidates.find((segments) => room(segments) >= sizeBytes);
  if (chosen === undefined) throw noRoom(sizeBytes, room(candidates[0]));
  return chosen;
}

/** The capacity that the configured limits leave; undefined if there are none. */
export function freeBytes(core: HostpathCore, segments: Segments | undefined): bigint | undefined {
  if (core.capacityBytes === undefined) return undefined;
  let free = core.capacityBytes;
  const here = (topology: Segments | undefined) =>
    segments === undefined || topology === undefined || contains(topology, segments);
  for (const { record } of core.records.volumes.list()) if (here(record.topology)) free -= record.sizeBytes;
  return free > 0n ? free : 0n;
}

/** Whether the segments `has` of a node or volume match all of `wanted`. */
export function contains(has: Segments, wanted: Segments): boolean {
  return Object.entries(wanted).every(([key, value]) => has[key] === value);
}

export function spelling(segments: Segments): string {
  const parts = Object.entries(segments).map(([key, value]) => `${key}=${value}`);
  return parts.toSorted().join(',');
}

function noRoom(sizeBytes: bigint, free: bigint) {
  return refuse.resourceExhausted(
    `the volume needs ${sizeBytes} bytes, ${free} are left; delete volumes or raise the capacity limit`,
  );
}
