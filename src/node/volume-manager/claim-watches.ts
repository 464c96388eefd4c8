// Watches the claims of this node's pods, each by name, which is all that a node is authorized to do: a claim may be
// bound, or wait for node expansion. kube-apiserver lets kubelets get claims but not watch them; there the claims are
// read every minute instead.

import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../api/kinds.ts';
import { nameFromKey } from '../../api/object.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isForbidden } from '../../runtime/kube/kube-error.ts';
import type { Timer } from '../../runtime/ports.ts';
import type { LoopPorts } from '../../runtime/queue/create-loop.ts';

/**
 * The delay before a watch starts: a watch costs more than five reads, and many pods end before their claim changes.
 */
const FOLLOW_AFTER_MS = 2_000;
const RELEASED = new Error('no pod of this node has the claim any more');

interface Followed {
  users: Set<string>;
  stop: AbortController;
  /** Starts the watch. */
  timer: Timer | undefined;
  informer: Informer<PersistentVolumeClaim> | undefined;
  /** As last read: before the watch has started, and where none is allowed. */
  read: PersistentVolumeClaim | undefined;
}

export interface ClaimWatches {
  /**
   * `user` is a pod UID. Idempotent. The watch of a claim that was just read (`read`) starts after a delay, of any
   * other at once.
   */
  follow(claimKey: string, user: string, read: PersistentVolumeClaim | undefined): void;
  release(user: string): void;
  /** From the watch, or as last read. */
  get(claimKey: string): PersistentVolumeClaim | undefined;
  /** Reads all claims again where watches are not allowed. */
  refresh(signal: AbortSignal): Promise<void>;
  stopAll(): void;
}

export function createClaimWatches(
  ports: LoopPorts & {
    kube: KubeClient;
    changed: (claimKey: string, users: Iterable<string>) => void;
  },
): ClaimWatches {
  const { kube, log } = ports;
  const followed = new Map<string, Followed>();
  let isAllowed: boolean | undefined;

  async function start(claimKey: string, entry: Followed): Promise<void> {
    const { name, namespace } = nameFromKey(claimKey);
    const options = { ...(namespace !== undefined && { namespace }), fieldSelector: `metadata.name=${name}` };
    if (isAllowed === undefined) {
      try {
        await kube.list(persistentVolumeClaims, { ...options, limit: 1, signal: entry.stop.signal });
        isAllowed = true;
      } catch (error) {
        if (isForbidden(error)) forbidden();
        // A lost response proves nothing: retry.
        else if (!entry.stop.signal.aborted) later(claimKey, entry);
        return;
      }
    }
    if (entry.stop.signal.aborted) return;
    const informers = createInformers(ports);
    entry.informer = informers.of(persistentVolumeClaims, options);
    const tell = () => {
      entry.read = undefined;
      ports.changed(claimKey, entry.users);
    };
    entry.informer.subscribe({ added: tell, updated: tell, deleted: tell });
    informers.start(entry.stop.signal);
  }

  function forbidden(): void {
    if (isAllowed === false) return;
    isAllowed = false;
    log.info('nodes may get claims on this API server, but not watch them; reading them every minute');
  }

  function later(claimKey: string, entry: Followed): void {
    entry.timer = ports.clock.setTimeout(() => now(claimKey, entry), FOLLOW_AFTER_MS);
  }

  function now(claimKey: string, entry: Followed): void {
    if (entry.timer === undefined) return;
    entry.timer.cancel();
    entry.timer = undefined;
    if (isAllowed === false) return;
    start(claimKey, entry).catch((error: unknown) => {
      if (!entry.stop.signal.aborted) log.warn('could not watch a claim', { claim: claimKey, err: error });
    });
  }

  function end({ timer, stop }: Followed): void {
    timer?.cancel();
    stop.abort(RELEASED);
  }

  return {
    follow(claimKey, user, read) {
      let entry = followed.get(claimKey);
      if (entry) entry.users.add(user);
      else {
        const stop = new AbortController();
        entry = { users: new Set([user]), stop, timer: undefined, informer: undefined, read: undefined };
        followed.set(claimKey, entry);
        later(claimKey, entry);
      }
      entry.read = read ?? entry.read;
      if (read === undefined) now(claimKey, entry);
    },
    release(user) {
      for (const [claimKey, entry] of followed) {
        if (!entry.users.delete(user) || entry.users.size > 0) continue;
        end(entry);
        followed.delete(claimKey);
      }
    },
    get(claimKey) {
      const entry = followed.get(claimKey);
      return entry?.informer?.get(claimKey) ?? entry?.read;
    },
    async refresh(signal) {
      if (isAllowed !== false) return;
      for (const [claimKey, entry] of [...followed]) {
        const claim = await kube
          .get(persistentVolumeClaims, nameFromKey(claimKey), { signal })
          .catch(() => undefined);
        signal.throwIfAborted();
        if (claim?.metadata.resourceVersion === entry.read?.metadata.resourceVersion) continue;
        entry.read = claim;
        if (followed.get(claimKey) === entry) ports.changed(claimKey, entry.users);
      }
    },
    stopAll() {
      for (const entry of followed.values()) end(entry);
      followed.clear();
    },
  };
}
