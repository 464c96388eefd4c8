// Test support: the Kubernetes port over a World, in memory and under any clock, with faults decided by the test.

import type { KubeObject } from '../../../api/object.ts';
import type { KubeClient, KubeList, ListOptions, WatchEvent, WatchOptions } from '../../kube/kube.ts';
import { KubeError, type KubeErrorReason } from '../../kube/kube-error.ts';
import type { World } from './world.ts';

export class MemoryKube implements Pick<KubeClient, 'list' | 'watch'> {
  readonly world: World;
  /** Thrown, one each, by the next lists and watches. */
  readonly failures: KubeError[] = [];
  readonly calls: string[] = [];
  /** Set to false for a server without streaming lists. */
  streams = true;
  installed = true;
  readonly #open = new Set<(error?: KubeError) => void>();
  #silences = 0;

  constructor(world: World) {
    this.world = world;
  }

  /** Ends all open watches: properly, or with an error. */
  breakWatches(error?: KubeError): void {
    for (const end of [...this.#open]) end(error);
  }

  /** Nothing comes through the watches that are open now. */
  silenceWatches(): void {
    this.#silences += 1;
  }

  get openWatches(): number {
    return this.#open.size;
  }

  async list<T extends KubeObject>(_: unknown, options: ListOptions = {}): Promise<KubeList<T>> {
    this.calls.push('list');
    this.#check();
    const from = Number(options.continue ?? 0);
    const all = this.world.list() as T[];
    const size = options.limit === undefined ? all.length : Math.min(options.limit, 3);
    const more = from + size < all.length ? { continue: String(from + size) } : {};
    return {
      items: all.slice(from, from + size),
      metadata: { resourceVersion: String(this.world.version), ...more },
    };
  }

  async *watch<T extends KubeObject>(_: unknown, options: WatchOptions = {}): AsyncGenerator<WatchEvent<T>> {
    this.calls.push(options.sendInitialEvents ? 'stream' : 'watch');
    const silences = this.#silences;
    if (options.sendInitialEvents && !this.streams) throw kubeError('Invalid', 422);
    this.#check();
    let version = Number(options.resourceVersion ?? 0);
    if (options.sendInitialEvents) {
      version = this.world.version;
      for (const object of this.world.list()) yield { type: 'ADDED', object: object as T };
      yield { type: 'BOOKMARK', resourceVersion: String(version), initialEventsEnd: true };
    }
    let over: { error?: KubeError } | undefined;
    let wake = (): void => {};
    const end = (error?: KubeError): void => {
      over = error === undefined ? {} : { error };
      wake();
    };
    const stopListening = this.world.onChange(() => wake());
    const onAbort = (): void => end();
    options.signal?.addEventListener('abort', onAbort, { once: true });
    this.#open.add(end);
    try {
      while (over === undefined) {
        const events = this.#silences > silences ? [] : this.world.since(version);
        if (events === undefined) throw kubeError('Expired', 410);
        for (const event of events) {
          version = Number(event.object.metadata.resourceVersion);
          yield event as WatchEvent<T>;
        }
        if (events.length > 0 || over !== undefined) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (over.error !== undefined) throw over.error;
    } finally {
      this.#open.delete(end);
      stopListening();
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  #check(): void {
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    if (!this.installed) throw kubeError('NotFound', 404);
  }
}

export function kubeError(reason: KubeErrorReason, code: number): KubeError {
  return new KubeError({ reason, code, message: `${reason}, on purpose` });
}
