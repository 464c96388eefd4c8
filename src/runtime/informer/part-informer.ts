// One part's view of a shared informer: its own handlers and indexes on the shared cache, from the moment it is connected
// until the part ends. Before that it behaves like an informer that has not been started.

import type { KubeObject, Resource } from '../../api/object.ts';
import { untilAborted } from '../time/until-aborted.ts';
import type { Informer, InformerHandler, SubscribeOptions } from './informer.ts';

type ValuesOf<T> = (object: T) => readonly string[];

interface Index<T> {
  /** In the shared cache, where other parts have indexes of the same name. */
  readonly name: string;
  readonly valuesOf: ValuesOf<T>;
}

export class PartInformer<T extends KubeObject> implements Informer<T> {
  readonly resource: Resource<T>;
  readonly #prefix: string;
  readonly #indexes = new Map<string, Index<T>>();
  readonly #handlers = new Map<
    { handler: InformerHandler<T>; options: SubscribeOptions | undefined },
    (() => void) | undefined
  >();
  readonly #connected = Promise.withResolvers<Informer<T>>();
  #source: Informer<T> | undefined;

  /** `prefix` makes the names of this part's indexes unique in the shared cache. */
  constructor(resource: Resource<T>, prefix: string) {
    this.resource = resource;
    this.#prefix = prefix;
  }

  connect(source: Informer<T>): void {
    this.#source = source;
    for (const { name, valuesOf } of this.#indexes.values()) source.addIndex(name, valuesOf);
    for (const key of this.#handlers.keys())
      this.#handlers.set(key, source.subscribe(key.handler, key.options));
    this.#connected.resolve(source);
  }

  /** The part has ended. What it cached can still be read. */
  release(): void {
    for (const stop of this.#handlers.values()) stop?.();
    this.#handlers.clear();
    for (const { name } of this.#indexes.values()) this.#source?.dropIndex(name);
    this.#indexes.clear();
  }

  get hasSynced(): boolean {
    return this.#source?.hasSynced ?? false;
  }

  get resourceVersion(): string {
    return this.#source?.resourceVersion ?? '';
  }

  get(key: string): T | undefined {
    return this.#source?.get(key);
  }

  list(): T[] {
    return this.#source?.list() ?? [];
  }

  addIndex(name: string, valuesOf: ValuesOf<T>): void {
    const known = this.#indexes.get(name);
    if (known !== undefined && known.valuesOf !== valuesOf) {
      throw new Error(`index ${name} already exists with another function`);
    }
    const index = { name: this.#prefix + name, valuesOf };
    this.#indexes.set(name, index);
    this.#source?.addIndex(index.name, valuesOf);
  }

  dropIndex(name: string): void {
    const index = this.#indexes.get(name);
    if (index === undefined) return;
    this.#indexes.delete(name);
    this.#source?.dropIndex(index.name);
  }

  byIndex(name: string, value: string): readonly T[] {
    return this.#source?.byIndex(this.#nameOf(name), value) ?? [];
  }

  indexValues(name: string): Iterable<string> {
    return this.#source?.indexValues(this.#nameOf(name)) ?? [];
  }

  subscribe(handler: InformerHandler<T>, options?: SubscribeOptions): () => void {
    const key = { handler, options };
    this.#handlers.set(key, this.#source?.subscribe(handler, options));
    return () => {
      this.#handlers.get(key)?.();
      this.#handlers.delete(key);
    };
  }

  async synced(signal?: AbortSignal): Promise<void> {
    const source = this.#source ?? (await this.#connection(signal));
    await source.synced(signal);
  }

  async refresh(): Promise<void> {
    const source = this.#source ?? (await this.#connected.promise);
    await source.refresh();
  }

  async waitFor(
    key: string,
    predicate: (object: T | undefined) => boolean,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    const source = this.#source ?? (await this.#connection(signal));
    return source.waitFor(key, predicate, signal);
  }

  #nameOf(name: string): string {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`no index ${name}: add it with addIndex first`);
    return index.name;
  }

  #connection(signal: AbortSignal | undefined): Promise<Informer<T>> {
    return untilAborted(this.#connected.promise, signal);
  }
}
