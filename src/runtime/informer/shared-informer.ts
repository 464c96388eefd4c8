// One informer: performs what list-watch.ts decides, keeps the store, and tells handlers and waiters what changed.
// It reads through the Kubernetes port and writes nothing. Handlers are called in order, after the cache shows the
// change; what they throw is logged and goes no further.

import { deepFreeze } from '../../api/deep-freeze.ts';
import { type KubeObject, keyOf, type Resource } from '../../api/object.ts';
import { selectionOf } from '../kube/selection-of.ts';
import { areRead } from '../metrics/unread-metrics.ts';
import type { Log } from '../ports.ts';
import { childSignal } from '../time/child-signal.ts';
import { inSlices, SLICE } from '../time/in-slices.ts';
import { onAbort } from '../time/on-abort.ts';
import { untilAborted } from '../time/until-aborted.ts';
import type {
  Informer,
  InformerHandler,
  InformerOptions,
  InformerPorts,
  SubscribeOptions,
} from './informer.ts';
import { type InformerMetrics, informerMetrics } from './informer-metrics.ts';
import { type Effect, type Input, initialState, type ListWatchState, transition } from './list-watch.ts';
import { logAbsent, logFailure } from './log-failure.ts';
import { resync } from './resync.ts';
import { RetryPause } from './retry-pause.ts';
import { StagedList } from './staged-list.ts';
import { type Change, Store } from './store.ts';
import { Subscribers } from './subscribers.ts';
import { Waiters } from './waiters.ts';

const PAGE_SIZE = 500;
/** As client-go: watches end after 5 to 10 minutes, so that a silent connection is noticed and load is spread. */
const WATCH_MIN_SECONDS = 300;

export class SharedInformer<T extends KubeObject> implements Informer<T> {
  readonly resource: Resource<T>;
  readonly #options: InformerOptions<T>;
  readonly #ports: InformerPorts;
  readonly #log: Log;
  readonly #metrics: InformerMetrics | undefined;
  readonly #store: Store<T>;
  readonly #waiters = new Waiters<T>();
  readonly #subscribers: Subscribers<T>;
  readonly #synced = Promise.withResolvers<void>();
  readonly #staged: StagedList<T>;
  /** Who waits for a list that has not begun yet, and who for the one under way. */
  #asked: PromiseWithResolvers<void>[] = [];
  #awaited: PromiseWithResolvers<void>[] = [];
  /** Ends the watch under way, if there is one, so that a list can begin. */
  #endWatch: (() => void) | undefined;
  /** While a large cache is swapped: the end of that. */
  #swapping: Promise<void> | undefined;
  #hasSynced = false;
  #resourceVersion = '';
  #saidAbsent = false;
  readonly #pause: RetryPause;
  #retry = { delayMs: 0, orderedMs: 0 };
  #stopped = false;

  constructor(resource: Resource<T>, options: InformerOptions<T>, ports: InformerPorts) {
    this.resource = resource;
    this.#options = options;
    this.#ports = ports;
    this.#log = ports.log.with({ informer: resource.plural });
    this.#metrics = areRead(ports.metrics) ? informerMetrics(ports.metrics, resource) : undefined;
    this.#subscribers = new Subscribers(this.#log);
    this.#store = new Store((index, error) => this.#log.error('index function threw', error, { index }));
    this.#pause = new RetryPause(ports.clock);
    this.#staged = new StagedList(this.#store, (object) => this.#prepare(object));
  }

  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): T[] {
    return [...this.#store.values()];
  }

  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void {
    this.#store.indexes.add(name, valuesOf, this.#store.entries());
  }

  dropIndex(name: string): void {
    this.#store.indexes.drop(name);
  }

  byIndex(name: string, value: string): readonly T[] {
    return this.#store.indexes.get(name, value);
  }

  indexValues(name: string): Iterable<string> {
    return this.#store.indexes.values(name);
  }

  subscribe(handler: InformerHandler<T>, options: SubscribeOptions = {}): () => void {
    const cached = this.list();
    if (!options.inSlices || cached.length <= SLICE) return this.#subscribers.add(handler, cached);
    const subscription = this.#subscribers.follow(handler);
    inSlices(this.#ports.clock, cached, (object) => {
      // It may have changed, or be gone, since the first slice.
      const now = this.get(keyOf(object));
      if (now !== undefined) subscription.replay(now);
    });
    return subscription.end;
  }

  synced(signal?: AbortSignal): Promise<void> {
    return untilAborted(this.#synced.promise, signal);
  }

  refresh(): Promise<void> {
    if (this.#stopped)
      return Promise.reject(new Error(`the informer of ${this.resource.plural} has stopped`));
    const listed = Promise.withResolvers<void>();
    this.#asked.push(listed);
    this.#endWatch?.();
    if (this.#mayHurry) this.#pause.cut();
    return listed.promise;
  }

  /** Once: what is asked for while an earlier refresh is tried again waits with that one, so that failures do not hot-loop. */
  get #mayHurry(): boolean {
    return this.#asked.length > 0 && this.#awaited.length === 0;
  }

  async waitFor(
    key: string,
    predicate: (object: T | undefined) => boolean,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    // Before the first list an empty cache says nothing about the server's state.
    await this.synced(signal);
    const object = this.get(key);
    if (predicate(object)) return object;
    signal?.throwIfAborted();
    return this.#waiters.wait(key, predicate, signal);
  }

  /** Follows the server until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { resyncMs } = this.#options;
    if (resyncMs) {
      const { clock } = this.#ports;
      resync({ resyncMs, clock, cache: this, announce: (changes) => this.#announce(changes), signal });
    }
    onAbort(signal, () => {
      this.#stopped = true;
      for (const { reject } of [...this.#asked, ...this.#awaited]) reject(signal.reason);
    });
    let state = initialState({
      streams: this.#ports.streams ?? true,
      optional: this.#options.optional ?? false,
    });
    while (!signal.aborted) {
      state = await this.#perform(state, signal);
      if (this.#swapping !== undefined) await this.#swapping;
      if (this.#asked.length > 0) state = this.#step(state, { kind: 'doubted' });
    }
  }

  /** Carries out the phase to its end, and returns the state after it. */
  async #perform(state: ListWatchState, signal: AbortSignal): Promise<ListWatchState> {
    const { phase } = state;
    if (phase.name === 'streaming' || (phase.name === 'listing' && phase.continue === undefined)) {
      this.#awaited.push(...this.#asked.splice(0));
    }
    switch (phase.name) {
      case 'listing':
        return this.#fetchPage(state, phase, signal);
      case 'streaming':
        return this.#follow(state, { sendInitialEvents: true }, signal);
      case 'watching':
        return this.#follow(state, { resourceVersion: phase.from }, signal);
      case 'waiting': {
        const { delayMs, orderedMs } = this.#retry;
        const jitteredMs = delayMs * (1 + this.#ports.random.next());
        const pause = { delayMs: jitteredMs, orderedMs, isCut: this.#mayHurry };
        const isEarly = await this.#pause.wait(pause, signal);
        return this.#step(state, { kind: 'waited', isEarly });
      }
    }
  }

  async #fetchPage(
    state: ListWatchState,
    phase: { continue?: string; whole: boolean },
    signal: AbortSignal,
  ): Promise<ListWatchState> {
    try {
      const page = await this.#ports.kube.list(this.resource, {
        ...selectionOf(this.#options),
        signal,
        ...(this.#ports.ownsObjects && { withoutManagedFields: true }),
        ...(phase.whole ? {} : { limit: PAGE_SIZE }),
        ...(phase.continue === undefined ? {} : { continue: phase.continue }),
      });
      const { resourceVersion, continue: next } = page.metadata;
      return this.#step(state, {
        kind: 'page',
        items: page.items,
        resourceVersion,
        ...(next ? { continue: next } : {}),
      });
    } catch (error) {
      if (signal.aborted) return state;
      return this.#step(state, { kind: 'failed', error, livedMs: 0 });
    }
  }

  async #follow(
    state: ListWatchState,
    from: { resourceVersion?: string; sendInitialEvents?: boolean },
    signal: AbortSignal,
  ): Promise<ListWatchState> {
    const { clock, kube, random } = this.#ports;
    const openedMs = clock.monotonicMs();
    let current = state;
    const watch = childSignal(signal);
    this.#endWatch = () => {
      if (current.phase.name === 'watching') watch.abort(new Error('listing again'));
    };
    try {
      const events = kube.watch(this.resource, {
        ...selectionOf(this.#options),
        ...from,
        signal: watch.signal,
        allowBookmarks: true,
        ...(this.#ports.ownsObjects && { withoutManagedFields: true }),
        timeoutSeconds: WATCH_MIN_SECONDS + random.int(WATCH_MIN_SECONDS),
      });
      for await (const event of events) {
        if (watch.signal.aborted) return current;
        current = this.#step(current, { kind: 'event', event });
        if (this.#swapping !== undefined) await this.#swapping;
        if (this.#asked.length > 0 && current.phase.name === 'watching') return current;
      }
      if (watch.signal.aborted) return current;
      return this.#step(current, { kind: 'ended', livedMs: clock.monotonicMs() - openedMs });
    } catch (error) {
      if (watch.signal.aborted) return current;
      return this.#step(current, { kind: 'failed', error, livedMs: clock.monotonicMs() - openedMs });
    } finally {
      this.#endWatch = undefined;
      watch.detach();
    }
  }

  #step(state: ListWatchState, input: Input<T>): ListWatchState {
    const next = transition(state, input);
    const before = this.#resourceVersion;
    this.#resourceVersion = next.state.resourceVersion;
    for (const effect of next.effects) this.#effect(effect, before);
    return next.state;
  }

  #effect(effect: Effect<T>, before: string): void {
    switch (effect.kind) {
      case 'unstage':
        this.#staged.take();
        return;
      case 'stage':
        for (const object of effect.objects) this.#staged.add(object);
        return;
      case 'unstageOne':
        this.#staged.remove(effect.object);
        return;
      case 'swap':
        this.#swap(before);
        return;
      case 'apply':
        this.#metrics?.watched(effect.type);
        this.#announce(this.#store.apply(effect.type, this.#prepare(effect.object)));
        return;
      case 'absent':
        if (!this.#saidAbsent) logAbsent(this.#log, effect.error);
        this.#saidAbsent = true;
        return;
      case 'report':
        this.#metrics?.failed(effect.error);
        logFailure(this.#log, effect.error, effect.then);
        return;
      case 'wait':
        this.#retry = effect;
        return;
    }
  }

  /** `before`: the version of the cache until then. */
  #swap(before: string): void {
    const staged = this.#staged.take();
    this.#metrics?.listed(staged.size);
    if (staged.size > 0) this.#saidAbsent = false;
    const isLarge = this.#store.size + staged.size >= SLICE;
    const steps = this.#store.swap(staged, SLICE);
    if (isLarge) {
      this.#swapping = this.#swapInSteps(steps, { before, after: this.#resourceVersion });
      return;
    }
    for (const changes of steps) this.#announce(changes);
    this.#swapped();
  }

  /** To handlers it looks as if the changes came one by one. */
  async #swapInSteps(
    steps: Iterable<Change<T>[]>,
    { before, after }: { before: string; after: string },
  ): Promise<void> {
    this.#resourceVersion = before;
    for (const changes of steps) {
      this.#announce(changes);
      await new Promise<void>((resolve) => this.#ports.clock.setImmediate(resolve));
      if (this.#stopped) return;
    }
    this.#resourceVersion = after;
    this.#swapping = undefined;
    this.#swapped();
  }

  #swapped(): void {
    for (const { resolve } of this.#awaited.splice(0)) resolve();
    if (this.#hasSynced) return;
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  #announce(changes: Change<T>[]): void {
    if (changes.length === 0) return;
    this.#subscribers.announce(changes);
    for (const { key } of changes) this.#waiters.changed(key, this.get(key));
  }

  #prepare(object: T): T {
    let prepared = object;
    try {
      if (this.#ports.ownsObjects) delete object.metadata.managedFields;
      prepared = this.#options.trim?.(object) ?? object;
    } catch (error) {
      this.#log.error('trim threw; the whole object is cached', error, { key: keyOf(object) });
    }
    return this.#ports.freeze ? deepFreeze(prepared) : prepared;
  }
}
