// Lists the pods of a namespace from the server, for decisions that must not rely on a cache. Requests are coalesced:
// callers that arrive during a list share the next one, never one that began before they asked.

import { type Pod, pods } from '../../api/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';

export class LivePods {
  readonly #kube: KubeClient;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<readonly Pod[]>>();

  constructor(kube: KubeClient) {
    this.#kube = kube;
  }

  /** A list that began after this call. */
  in(namespace: string, signal: AbortSignal): Promise<readonly Pod[]> {
    const waiting = this.#next.get(namespace);
    if (waiting !== undefined) return waiting;
    const next = this.#listAfter(this.#running.get(namespace), namespace, signal);
    this.#next.set(namespace, next);
    return next;
  }

  async #listAfter(
    previous: Promise<unknown> | undefined,
    namespace: string,
    signal: AbortSignal,
  ): Promise<readonly Pod[]> {
    await previous?.catch(() => {});
    this.#next.delete(namespace);
    const list = this.#kube.list(pods, { namespace, signal });
    this.#running.set(namespace, list);
    try {
      return (await list).items;
    } finally {
      if (this.#running.get(namespace) === list) this.#running.delete(namespace);
    }
  }
}
