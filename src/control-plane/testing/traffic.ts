// Test support: tracks requests and watches between clients and a real API server, so that a test can tell when they
// are quiescent: no request in flight, no event for a moment, and every open watch has shown all writes.

import { type KubeObject, keyOf, type Resource } from '../../api/object.ts';
import type { Discovery, KubeClient, WatchEvent, WatchOptions } from '../../runtime/kube/kube.ts';

/** Longer than a change takes from a write's response to the watches, on a busy machine. */
const SILENCE_MS = 40;
/** A write that changed nothing, or that a watch's selector hides, is never shown: the limit of waiting for it. */
const SHOWN_LIMIT_MS = 500;
const POLL_MS = 4;

interface OpenWatch {
  readonly plural: string;
  /** The newest version that was written while the watch was open, and the newest that it has shown. */
  owed: number;
  shown: number;
  /** Keys of deleted objects whose deletion has not been shown yet. */
  readonly deletions: Set<string>;
}

export class Traffic {
  readonly #watches = new Set<OpenWatch>();
  #underWay = 0;
  #lastMs = performance.now();

  /** The same client, with its traffic counted. */
  through(kube: KubeClient & Discovery): KubeClient & Discovery {
    const call = async <T>(work: () => Promise<T>, wrote: (answer: T) => void = () => {}): Promise<T> => {
      this.#underWay++;
      try {
        const answer = await work();
        wrote(answer);
        return answer;
      } finally {
        this.#underWay--;
        this.#lastMs = performance.now();
      }
    };
    const owe = (resource: Resource) => (answer: unknown) => {
      const { metadata } = answer as Partial<KubeObject>;
      for (const watch of this.#of(resource)) {
        watch.owed = Math.max(watch.owed, Number(metadata?.resourceVersion ?? 0));
      }
    };
    return {
      get: (...given) => call(() => kube.get(...given)),
      list: (...given) => call(() => kube.list(...given)),
      watch: (resource, options) => this.#followed(kube, resource, options),
      create: (...given) => call(() => kube.create(...given), owe(given[0])),
      update: (...given) => call(() => kube.update(...given), owe(given[0])),
      patch: (...given) => call(() => kube.patch(...given), owe(given[0])),
      delete: async (resource, name, options) => {
        const key = keyOf({ metadata: name });
        // Before the call: the watch may be faster than the response.
        for (const watch of this.#of(resource)) watch.deletions.add(key);
        try {
          await call(() => kube.delete(resource, name, options));
        } catch (error) {
          for (const watch of this.#of(resource)) watch.deletions.delete(key);
          throw error;
        }
      },
      deleteCollection: (...given) => call(() => kube.deleteCollection(...given)),
      createSubresource: (...given) => call(() => kube.createSubresource(...given)),
      servedResources: (...given) => call(() => kube.servedResources(...given)),
    };
  }

  /** Resolves once traffic is quiescent, or the limit is reached. Each `turn` may cause further traffic. */
  async rest(turn: () => Promise<void>, isEnough: () => boolean): Promise<void> {
    for (;;) {
      await turn();
      if (isEnough()) return;
      const silentMs = performance.now() - this.#lastMs;
      const isShown = [...this.#watches].every(
        ({ owed, shown, deletions }) => shown >= owed && deletions.size === 0,
      );
      if (this.#underWay === 0 && silentMs >= (isShown ? SILENCE_MS : SHOWN_LIMIT_MS)) {
        for (const watch of this.#watches) {
          watch.owed = watch.shown;
          watch.deletions.clear();
        }
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #of(resource: Resource): OpenWatch[] {
    return [...this.#watches].filter(({ plural }) => plural === resource.plural);
  }

  async *#followed<T extends KubeObject>(
    kube: KubeClient,
    resource: Resource<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>> {
    const shown = Number(options.resourceVersion ?? 0);
    const watch: OpenWatch = { plural: resource.plural, owed: 0, shown, deletions: new Set() };
    this.#watches.add(watch);
    // A streaming list counts as a request until its first event or error.
    let isAsking = options.sendInitialEvents === true;
    const answered = (): void => {
      if (isAsking) this.#underWay--;
      isAsking = false;
    };
    if (isAsking) this.#underWay++;
    try {
      for await (const event of kube.watch(resource, options)) {
        answered();
        this.#lastMs = performance.now();
        if (event.type !== 'BOOKMARK') {
          const { metadata } = event.object;
          watch.shown = Math.max(watch.shown, Number(metadata.resourceVersion));
          if (event.type === 'DELETED' || metadata.deletionTimestamp)
            watch.deletions.delete(keyOf(event.object));
        }
        yield event;
      }
    } finally {
      answered();
      this.#watches.delete(watch);
    }
  }
}
