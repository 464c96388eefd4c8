// The port through which loops ask whether an object is this replica's. Implemented by membership.ts. A component that
// has no such port works on everything, as with leader election or alone.

import type { KubeObject } from '../../api/object.ts';
import { isNewer } from '../../api/resource-version.ts';
import type { Informer } from '../informer/informer.ts';
import { ifThere } from '../kube/if-there.ts';
import type { KubeClient } from '../kube/kube.ts';
import { done, type Outcome, type Reconcile, requeueAfter } from '../queue/loop.ts';

export type Owns = (key: string) => boolean;

export interface Shares {
  /** Whether this replica may act on what the key stands for, now. */
  owns(key: string): boolean;
  /**
   * Marks the key as worked on, if it is owned: another replica does not begin with it before `leave`, even when the
   * division changes meanwhile. Undefined: it is another replica's.
   */
  enter(key: string): { leave(): void } | undefined;
  /**
   * `prepare` is called and awaited before keys become this replica's: they are those that `after` has and `before` has
   * not. What is remembered of them from earlier is out of date. A rejection is tried again.
   */
  beforeGain(prepare: (before: Owns, after: Owns) => Promise<void> | void): void;
  /** `look` is called when objects may have become this replica's: it enqueues whatever may need work. */
  onGain(look: () => void): void;
  /** Increases with each gain. */
  readonly term: number;
}

/** While a cache is behind: watches are rarely later than this. One that is silent is waited for ever longer. */
const CATCH_UP_MS = 50;
const LONGEST_CATCH_UP_MS = 1_000;

export interface SharedLoop<T extends KubeObject> {
  /** What the loop's key is divided by; undefined when the object is gone, so that there is nothing to do. */
  ownerKey(key: string): string | undefined;
  /**
   * Where given, the first run over a key in a term reads its object from the server, and waits for the cache: another
   * replica may have worked on it until a moment ago, and the cache may not show that yet.
   */
  confirm?: { kube: Pick<KubeClient, 'get'>; informer: Informer<T> };
}

/** The reconciler of a loop, limited to this replica's share. Without shares it is the reconciler itself. */
export function sharedReconcile<T extends KubeObject>(
  shares: Shares | undefined,
  of: SharedLoop<T>,
  reconcile: Reconcile,
): Reconcile {
  if (shares === undefined) return reconcile;
  const confirmed = new Map<string, number>();
  /** Of keys whose objects the cache does not show as they are: how long to wait. */
  const behind = new Map<string, number>();
  const forget = (key: string): void => {
    confirmed.delete(key);
    behind.delete(key);
  };
  const waitFor = (key: string): Outcome => {
    const waitMs = behind.get(key) ?? CATCH_UP_MS;
    behind.set(key, Math.min(2 * waitMs, LONGEST_CATCH_UP_MS));
    return requeueAfter(waitMs, 'the cache is behind the replica that had it before');
  };

  async function isCurrent(key: string, signal: AbortSignal): Promise<boolean> {
    if (of.confirm === undefined || confirmed.get(key) === shares?.term) return true;
    const { kube, informer } = of.confirm;
    const term = shares?.term ?? 0;
    const cached = informer.get(key);
    if (cached === undefined) return true;
    const { name, namespace } = cached.metadata;
    const found = await ifThere(
      kube.get(informer.resource, { name, ...(namespace !== undefined && { namespace }) }, { signal }),
    );
    const now = informer.get(key);
    if (found === undefined) return now === undefined;
    const isBehind =
      now === undefined || isNewer(found.metadata.resourceVersion, now.metadata.resourceVersion);
    if (!isBehind) confirmed.set(key, term);
    return !isBehind;
  }
  of.confirm?.informer.subscribe({
    deleted: ({ metadata: { namespace, name } }) =>
      forget(namespace === undefined ? name : `${namespace}/${name}`),
  });

  return async (key, run) => {
    const owner = of.ownerKey(key);
    const turn = owner === undefined ? undefined : shares.enter(owner);
    if (turn === undefined) {
      forget(key);
      return done;
    }
    try {
      if (!(await isCurrent(key, run.signal))) return waitFor(key);
      behind.delete(key);
      return await reconcile(key, run);
    } finally {
      turn.leave();
    }
  };
}
