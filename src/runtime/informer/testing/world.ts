// Test support: the true state of one kind on a server, its history, and what a list and a watch of it would show.
// The doors to it (HTTP, in memory) bring the faults.

import type { KubeObject } from '../../../api/object.ts';

export type RawEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: KubeObject };

export class World {
  readonly objects = new Map<string, KubeObject>();
  readonly #history: RawEvent[] = [];
  readonly #watchers = new Set<() => void>();
  #version = 100;
  #uids = 0;
  /** Events up to this version are forgotten. */
  #compacted = 0;

  get version(): number {
    return this.#version;
  }

  create(name: string, value = ''): void {
    if (this.objects.has(name)) return;
    this.#record('ADDED', name, `uid-${++this.#uids}`, value);
  }

  modify(name: string, value: string): void {
    const before = this.objects.get(name);
    if (before !== undefined) this.#record('MODIFIED', name, before.metadata.uid, value);
  }

  delete(name: string): void {
    const before = this.objects.get(name);
    if (before === undefined) return;
    this.objects.delete(name);
    const metadata = { ...before.metadata, resourceVersion: String(++this.#version) };
    this.#push({ type: 'DELETED', object: { ...before, metadata } });
  }

  /** All history is forgotten: whoever watches from before gets 410. */
  compact(): void {
    this.#compacted = this.#version;
    this.#history.length = 0;
  }

  list(): KubeObject[] {
    return [...this.objects.values()];
  }

  /** Undefined when that version is gone. */
  since(version: number): RawEvent[] | undefined {
    if (version < this.#compacted) return undefined;
    return this.#history.filter((event) => Number(event.object.metadata.resourceVersion) > version);
  }

  onChange(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #record(type: 'ADDED' | 'MODIFIED', name: string, uid: string, value: string): void {
    const object: KubeObject = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        uid,
        resourceVersion: String(++this.#version),
        creationTimestamp: '2026-01-01T00:00:00Z',
        annotations: { value },
      },
    };
    this.objects.set(name, object);
    this.#push({ type, object });
  }

  #push(event: RawEvent): void {
    this.#history.push(event);
    for (const watcher of [...this.#watchers]) watcher();
  }
}

/** What a cache should hold, in a form that compares well. */
export function summary(objects: Iterable<KubeObject>): Record<string, string> {
  const entries = [...objects].map(({ metadata }): [string, string] => [
    metadata.name,
    `${metadata.uid}@${metadata.resourceVersion}=${metadata.annotations?.value ?? ''}`,
  ]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
