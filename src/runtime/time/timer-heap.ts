// A binary heap of timers, earliest first, in order of insertion within the same instant. Entries know their index, so removal
// needs no search.

export interface HeapEntry {
  dueMs: number;
  /** Order of insertion; assigned by the heap. */
  sequence: number;
  /** Index in the heap, -1 when not in it; maintained by the heap. */
  index: number;
}

function before(a: HeapEntry, b: HeapEntry): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}

export class TimerHeap<T extends HeapEntry> {
  readonly #entries: T[] = [];
  #sequence = 0;

  get size(): number {
    return this.#entries.length;
  }

  peek(): T | undefined {
    return this.#entries[0];
  }

  push(entry: T): void {
    entry.sequence = this.#sequence++;
    this.#entries.push(entry);
    this.#rise(entry, this.#entries.length - 1);
  }

  pop(): T | undefined {
    const first = this.#entries[0];
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** Harmless when the entry is not in the heap. */
  remove(entry: T): void {
    const index = entry.index;
    if (index < 0) return;
    entry.index = -1;
    const last = this.#entries.pop() as T;
    if (last === entry) return;
    this.#rise(last, index);
    if (last.index === index) this.#sink(last, index);
  }

  #rise(entry: T, from: number): void {
    const entries = this.#entries;
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = entries[parentIndex] as T;
      if (!before(entry, parent)) break;
      entries[index] = parent;
      parent.index = index;
      index = parentIndex;
    }
    entries[index] = entry;
    entry.index = index;
  }

  #sink(entry: T, from: number): void {
    const entries = this.#entries;
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= entries.length) break;
      const right = entries[childIndex + 1];
      if (right !== undefined && before(right, entries[childIndex] as T)) childIndex++;
      const child = entries[childIndex] as T;
      if (!before(child, entry)) break;
      entries[index] = child;
      child.index = index;
      index = childIndex;
    }
    entries[index] = entry;
    entry.index = index;
  }
}
