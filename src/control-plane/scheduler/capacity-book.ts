// Published storage capacity, indexed by class and topology, so that a lookup for a node costs the same however many
// objects there are. Watches CSIStorageCapacity objects; is independent of pods.

import type { CSIStorageCapacity } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { quantityToBytes } from '../../api/quantity.ts';
import { labelSelectorOf, matchesLabels, type ParsedSelector } from '../../api/selectors.ts';
import { segmentFromLabels, segmentText } from '../../api/topology.ts';

type Labels = Readonly<Record<string, string>>;

interface Pool {
  /** The largest volume that it can hold. */
  limitBytes: bigint;
  capacityBytes: bigint;
}

interface Entry {
  className: string;
  pool: Pool;
  where:
    | { kind: 'segment'; keys: readonly string[]; text: string }
    | { kind: 'selector'; selector: ParsedSelector };
}

interface ClassBook {
  /** By the keys of the topology, then by segment, then by object. */
  segments: Map<string, { keys: readonly string[]; bySegment: Map<string, Map<string, Pool>> }>;
  selectors: Map<string, { selector: ParsedSelector; pool: Pool }>;
}

export class CapacityBook {
  readonly #entries = new Map<string, Entry>();
  readonly #classes = new Map<string, ClassBook>();

  put(capacity: CSIStorageCapacity): void {
    const key = keyOf(capacity);
    this.remove(key);
    const entry = entryOf(capacity);
    if (!entry) return;
    this.#entries.set(key, entry);
    const book: ClassBook = this.#classes.get(entry.className) ?? {
      segments: new Map(),
      selectors: new Map(),
    };
    this.#classes.set(entry.className, book);
    const { where, pool } = entry;
    if (where.kind === 'selector') {
      book.selectors.set(key, { selector: where.selector, pool });
      return;
    }
    const keysText = where.keys.join(' ');
    const group = book.segments.get(keysText) ?? { keys: where.keys, bySegment: new Map() };
    book.segments.set(keysText, group);
    const pools = group.bySegment.get(where.text) ?? new Map<string, Pool>();
    group.bySegment.set(where.text, pools.set(key, pool));
  }

  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    const book = this.#classes.get(entry.className);
    if (entry.where.kind === 'selector') {
      book?.selectors.delete(key);
      return;
    }
    const keysText = entry.where.keys.join(' ');
    const group = book?.segments.get(keysText);
    const pools = group?.bySegment.get(entry.where.text);
    pools?.delete(key);
    if (pools?.size === 0) group?.bySegment.delete(entry.where.text);
    if (group?.bySegment.size === 0) book?.segments.delete(keysText);
  }

  /**
   * The free capacity of the largest pool of the class that a node with these labels can reach and that has room for a
   * volume of this size; undefined when there is none.
   */
  room(className: string, sizeBytes: bigint, labels: Labels | undefined): bigint | undefined {
    let most: bigint | undefined;
    const look = ({ limitBytes, capacityBytes }: Pool): void => {
      if (limitBytes >= sizeBytes && (most === undefined || capacityBytes > most)) most = capacityBytes;
    };
    const book = this.#classes.get(className);
    for (const { keys, bySegment } of book?.segments.values() ?? []) {
      const segment = segmentFromLabels(keys, labels);
      if (segment) for (const pool of bySegment.get(segmentText(segment))?.values() ?? []) look(pool);
    }
    for (const { selector, pool } of book?.selectors.values() ?? []) {
      if (matchesLabels(selector, labels)) look(pool);
    }
    return most;
  }
}

/**
 * Undefined for an object that offers nothing: without a topology no node can reach it, without a size it has no room.
 */
function entryOf({
  storageClassName,
  nodeTopology,
  capacity,
  maximumVolumeSize,
}: CSIStorageCapacity): Entry | undefined {
  const limit = maximumVolumeSize ?? capacity;
  if (!nodeTopology || limit === undefined) return undefined;
  const pool = { limitBytes: quantityToBytes(limit), capacityBytes: quantityToBytes(capacity ?? limit) };
  const common = { className: storageClassName, pool };
  const labels = nodeTopology.matchLabels ?? {};
  const keys = Object.keys(labels).sort();
  if (keys.length > 0 && (nodeTopology.matchExpressions ?? []).length === 0) {
    return { ...common, where: { kind: 'segment', keys, text: segmentText(labels) } };
  }
  try {
    return { ...common, where: { kind: 'selector', selector: labelSelectorOf(nodeTopology) } };
  } catch {
    // An invalid selector matches nothing.
    return undefined;
  }
}
