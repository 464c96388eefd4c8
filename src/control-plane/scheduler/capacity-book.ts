// Published storage capacity, indexed by class and topology, so that a lookup for a node costs the same however many
// objects there are. Watches CSIStorageCapacity objects; is independent of pods.

import type { CSIStorageCapacity } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { quantityToBytes } from '../../api/quantity.ts';
import { labelSelectorOf, matchesLabels, type ParsedSelector } from '../../api/selectors.ts';
import { segmentFromLabels, segmentText } from '../../api/topology.ts';

type Labels = Readonly<Record<string, string>>;

interface Entry {
  className: string;
  limitBytes: bigint;
  where:
    | { kind: 'segment'; keys: readonly string[]; text: string }
    | { kind: 'selector'; selector: ParsedSelector };
}

interface ClassBook {
  /** By the keys of the topology, then by segment, then by object. */
  segments: Map<string, { keys: readonly string[]; bySegment: Map<string, Map<string, bigint>> }>;
  selectors: Map<string, { selector: ParsedSelector; limitBytes: bigint }>;
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
    const { where, limitBytes } = entry;
    if (where.kind === 'selector') {
      book.selectors.set(key, { selector: where.selector, limitBytes });
      return;
    }
    const keysText = where.keys.join(' ');
    const group = book.segments.get(keysText) ?? { keys: where.keys, bySegment: new Map() };
    book.segments.set(keysText, group);
    const limits = group.bySegment.get(where.text) ?? new Map<string, bigint>();
    group.bySegment.set(where.text, limits.set(key, limitBytes));
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
    const limits = group?.bySegment.get(entry.where.text);
    limits?.delete(key);
    if (limits?.size === 0) group?.bySegment.delete(entry.where.text);
    if (group?.bySegment.size === 0) book?.segments.delete(keysText);
  }

  /** Whether a node with these labels can reach a pool of the class with room for a volume of this size. */
  hasRoom(className: string, sizeBytes: bigint, labels: Labels | undefined): boolean {
    const book = this.#classes.get(className);
    if (!book) return false;
    for (const { keys, bySegment } of book.segments.values()) {
      const segment = segmentFromLabels(keys, labels);
      if (!segment) continue;
      for (const limit of bySegment.get(segmentText(segment))?.values() ?? []) {
        if (limit >= sizeBytes) return true;
      }
    }
    for (const { selector, limitBytes } of book.selectors.values()) {
      if (limitBytes >= sizeBytes && matchesLabels(selector, labels)) return true;
    }
    return false;
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
  const common = { className: storageClassName, limitBytes: quantityToBytes(limit) };
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
