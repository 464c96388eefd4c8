// For the tests of this folder: the part of an API server that Leases need, on virtual time. Versions are checked,
// requests take time both ways, and a client can be cut off: then requests hang, whether or not they arrived.

import type { Lease } from '../../../api/kinds.ts';
import type { Draft } from '../../../api/object.ts';
import type { KubeClient, WatchEvent } from '../../kube/kube.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Clock } from '../../ports.ts';

export interface LeaseServer {
  /** What the server holds. */
  readonly lease: Lease | undefined;
  /** Every record ever written, in order. */
  readonly history: readonly Lease[];
  client(link: Link): KubeClient;
}

export interface Link {
  /** Each way; with `jitter` it is drawn anew each time. */
  latencyMs: number | (() => number);
  /** `requests`: nothing arrives. `answers`: requests arrive, answers do not. */
  cut?: 'requests' | 'answers' | undefined;
  watchable?: boolean;
}

export function leaseServer(clock: Clock): LeaseServer {
  let stored: Lease | undefined;
  let version = 0;
  const history: Lease[] = [];
  const watchers = new Set<(event: WatchEvent<Lease>) => void>();

  function store(draft: Draft<Lease>, uid: string): Lease {
    const type = stored === undefined ? 'ADDED' : 'MODIFIED';
    const metadata = {
      name: '',
      creationTimestamp: '',
      ...draft.metadata,
      uid,
      resourceVersion: String(++version),
    };
    stored = structuredClone({ ...draft, apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata });
    history.push(stored);
    for (const send of watchers) send({ type, object: stored });
    return stored;
  }

  const fail = (reason: 'NotFound' | 'Conflict' | 'AlreadyExists', code: number): never => {
    throw new KubeError({ reason, code, message: reason });
  };

  const verbs = {
    get: () => stored ?? fail('NotFound', 404),
    create: (draft: Draft<Lease>) =>
      stored === undefined ? store(draft, `uid-${version}`) : fail('AlreadyExists', 409),
    update: (draft: Draft<Lease>) => {
      if (stored === undefined) return fail('NotFound', 404);
      if (draft.metadata.resourceVersion !== stored.metadata.resourceVersion) return fail('Conflict', 409);
      return store(draft, stored.metadata.uid);
    },
  };

  async function call<T>(link: Link, signal: AbortSignal | undefined, act: () => T): Promise<T> {
    const latency = () => (typeof link.latencyMs === 'number' ? link.latencyMs : link.latencyMs());
    const arrived = new Promise<T>((resolve, reject) => {
      clock.setTimeout(() => {
        if (link.cut === 'requests') return;
        let settle: () => void;
        try {
          const answer = act();
          settle = () => resolve(answer);
        } catch (error) {
          settle = () => reject(error);
        }
        clock.setTimeout(() => {
          if (link.cut === undefined) settle();
        }, latency());
      }, latency());
    });
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    signal?.throwIfAborted();
    return Promise.race([arrived, aborted]);
  }

  async function* watch(link: Link, signal: AbortSignal | undefined): AsyncGenerator<WatchEvent<Lease>> {
    if (link.watchable === false)
      throw new KubeError({ reason: 'Forbidden', code: 403, message: 'no watch' });
    const queue: WatchEvent<Lease>[] = stored === undefined ? [] : [{ type: 'ADDED', object: stored }];
    let wake = () => {};
    const receive = (event: WatchEvent<Lease>) => {
      clock.setTimeout(
        () => {
          if (link.cut !== undefined) return;
          queue.push(event);
          wake();
        },
        typeof link.latencyMs === 'number' ? link.latencyMs : link.latencyMs(),
      );
    };
    watchers.add(receive);
    try {
      for (;;) {
        const next = queue.shift();
        if (next !== undefined) yield next;
        else
          await new Promise<void>((resolve, reject) => {
            wake = resolve;
            if (signal?.aborted) reject(signal.reason);
            signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
          });
      }
    } finally {
      watchers.delete(receive);
    }
  }

  return {
    get lease() {
      return stored;
    },
    history,
    client(link) {
      const client = {
        get: (_resource: unknown, _name: unknown, options?: { signal?: AbortSignal }) =>
          call(link, options?.signal, verbs.get),
        create: (_resource: unknown, draft: Draft<Lease>, options?: { signal?: AbortSignal }) =>
          call(link, options?.signal, () => verbs.create(draft)),
        update: (_resource: unknown, draft: Draft<Lease>, options?: { signal?: AbortSignal }) =>
          call(link, options?.signal, () => verbs.update(draft)),
        watch: (_resource: unknown, options?: { signal?: AbortSignal }) => watch(link, options?.signal),
      };
      // Only what elections call: anything else fails loudly as not a function.
      return client as unknown as KubeClient;
    },
  };
}
