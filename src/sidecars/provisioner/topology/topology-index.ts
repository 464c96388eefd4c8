// The cluster's topology segments for one driver. Updated one node at a time by informers, so that a CreateVolume
// request is built without iterating over all nodes: segments are counted per set of keys, and the sorted list of a set
// is cached until a segment appears or disappears. Holds no other state and does no I/O.

import { type Segment, segmentFromLabels, segmentText, sortedSegments } from '../../../api/topology.ts';
import type { DriverOnNode } from '../../../api/volumes.ts';
import type { Random } from '../../../runtime/ports.ts';

/** A node that runs the driver: the driver's topology keys there, and the node's labels. */
export interface TopologyNode {
  driver: DriverOnNode;
  labels: Record<string, string> | undefined;
}

/** Segments with the number of their nodes. */
class SegmentCounts {
  readonly #entries = new Map<string, { segment: Segment; nodes: number }>();
  #sorted: readonly Segment[] | undefined;

  /** Each segment once, in canonical order; cached until one appears or disappears. */
  get sorted(): readonly Segment[] {
    this.#sorted ??= sortedSegments([...this.#entries.values()].map((entry) => entry.segment));
    return this.#sorted;
  }

  has(segment: Segment): boolean {
    return this.#entries.has(segmentText(segment));
  }

  /** One node more or less. Returns whether the segment appeared or disappeared. */
  count(segment: Segment, change: 1 | -1): boolean {
    const text = segmentText(segment);
    const entry = this.#entries.get(text) ?? { segment, nodes: 0 };
    entry.nodes += change;
    if (entry.nodes > 0) this.#entries.set(text, entry);
    else this.#entries.delete(text);
    const isChanged = entry.nodes === 0 || (change === 1 && entry.nodes === 1);
    if (isChanged) this.#sorted = undefined;
    return isChanged;
  }
}

interface Aggregate {
  keys: readonly string[];
  counts: SegmentCounts;
}

export class TopologyIndex {
  readonly #nodes = new Map<string, TopologyNode>();
  /** Names of nodes whose driver has topology keys, unordered, to pick one at random in constant time. */
  readonly #withKeys: string[] = [];
  readonly #position = new Map<string, number>();
  readonly #aggregates = new Map<string, Aggregate>();
  /** Each node's segment by the keys that the driver reports on that node. */
  readonly #own = new SegmentCounts();
  readonly #listeners = new Set<(segment: Segment) => void>();

  /** Updates a node; undefined when it is gone or no longer runs the driver. */
  update(name: string, node: TopologyNode | undefined): void {
    const before = this.#nodes.get(name);
    for (const aggregate of this.#aggregates.values()) {
      count(aggregate, before, -1);
      count(aggregate, node, +1);
    }
    if (node) this.#nodes.set(name, node);
    else this.#nodes.delete(name);
    this.#countOwn(before, -1);
    this.#countOwn(node, +1);
    this.#remember(name, (node?.driver.topologyKeys.length ?? 0) > 0);
  }

  get(name: string): TopologyNode | undefined {
    return this.#nodes.get(name);
  }

  /** Any node whose driver reports topology keys; undefined when there is none. */
  randomNode(random: Random): TopologyNode | undefined {
    const name = this.#withKeys[random.int(Math.max(1, this.#withKeys.length))];
    return name === undefined ? undefined : this.#nodes.get(name);
  }

  /** Every segment that nodes running the driver have for these keys, each once, in canonical order. */
  segments(keys: readonly string[]): readonly Segment[] {
    const text = JSON.stringify([...keys].sort());
    let aggregate = this.#aggregates.get(text);
    if (!aggregate) {
      aggregate = { keys, counts: new SegmentCounts() };
      for (const node of this.#nodes.values()) count(aggregate, node, +1);
      this.#aggregates.set(text, aggregate);
    }
    return aggregate.counts.sorted;
  }

  /** Every segment of some node, by the node's own keys; capacity is published for these. */
  ownSegments(): readonly Segment[] {
    return this.#own.sorted;
  }

  /** Called when a segment gets its first node or loses its last. */
  onOwnSegment(listener: (segment: Segment) => void): void {
    this.#listeners.add(listener);
  }

  hasOwnSegment(segment: Segment): boolean {
    return this.#own.has(segment);
  }

  #countOwn(node: TopologyNode | undefined, change: 1 | -1): void {
    const keys = node?.driver.topologyKeys ?? [];
    const segment = keys.length > 0 ? segmentFromLabels(keys, node?.labels) : undefined;
    if (!segment || !this.#own.count(segment, change)) return;
    for (const listener of this.#listeners) listener(segment);
  }

  #remember(name: string, hasKeys: boolean): void {
    const position = this.#position.get(name);
    if (hasKeys && position === undefined) {
      this.#position.set(name, this.#withKeys.length);
      this.#withKeys.push(name);
    } else if (!hasKeys && position !== undefined) {
      this.#position.delete(name);
      const last = this.#withKeys.pop();
      if (last !== undefined && last !== name) {
        this.#withKeys[position] = last;
        this.#position.set(last, position);
      }
    }
  }
}

function count({ keys, counts }: Aggregate, node: TopologyNode | undefined, change: 1 | -1): void {
  const segment = node && segmentFromLabels(keys, node.labels);
  if (segment) counts.count(segment, change);
}
