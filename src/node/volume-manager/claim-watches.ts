// Follows the claims of this node's pods, each by name, which is all a node may do: told when one is bound or waits for
// its filesystem to grow. Where even that is forbidden (kube-apiserver lets a kubelet only get claims), nothing is
// followed, and all of them are read now and then.

import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../api/kinds.ts';
import { nameFromKey } from '../../api/object.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import type { Informer } from '../../runtime/informer.ts';
import type { KubeClient } from '../../runtime/kube.ts';
import { isForbidden } from '../../runtime/kube-error.ts';
import type { Clock, Log, Random } from '../../runtime/ports.ts';

interface Followed {
  users: Set<string>;
  stop: AbortController;
  informer: Informer<PersistentVolumeClaim> | undefined;
  /** As last read, where it may not be followed. */
  read: PersistentVolumeClaim | undefined;
}

export interface ClaimWatches {
  /** `user` is a pod UID; asking again is harmless. */
  follow(claimKey: string, user: string): void;
  release(user: string): void;
  /** As last seen; undefined when it is not followed. */
  get(claimKey: string): PersistentVolumeClaim | undefined;
  /** Reads what may not be followed. */
  refresh(signal: AbortSignal): Promise<void>;
  stopAll(): void;
}

export function createClaimWatches(ports: {
  kube: KubeClient;
  clock: Clock;
  random: Random;
  log: Log;
  changed: (claimKey: string, users: Iterable<string>) => void;
}): ClaimWatches {
  const { kube, log } = ports;
  const followed = new Map<string, Followed>();
  let isAllowed = true;

  async function start(claimKey: string, entry: Followed): Promise<void> {
    const { name, namespace } = nameFromKey(claimKey);
    const options = { ...(namespace !== undefined && { namespace }), fieldSelector: `metadata.name=${name}` };
    try {
      await kube.list(persistentVolumeClaims, { ...options, limit: 1, signal: entry.stop.signal });
    } catch (error) {
      if (!isForbidden(error) || !isAllowed) return;
      isAllowed = false;
      log.info('this API server lets nodes only get claims, not watch them; they are read every minute');
      return;
    }
    if (entry.stop.signal.aborted) return;
    const informers = createInformers(ports);
    entry.informer = informers.of(persistentVolumeClaims, options);
    const tell = () => ports.changed(claimKey, entry.users);
    entry.informer.subscribe({ added: tell, updated: tell, deleted: tell });
    informers.start(entry.stop.signal);
  }

  return {
    follow(claimKey, user) {
      const known = followed.get(claimKey);
      if (known) known.users.add(user);
      if (known) return;
      const stop = new AbortController();
      const entry: Followed = { users: new Set([user]), stop, informer: undefined, read: undefined };
      followed.set(claimKey, entry);
      if (!isAllowed) return;
      start(claimKey, entry).catch((error: unknown) => {
        if (!entry.stop.signal.aborted) log.warn('could not follow a claim', { claim: claimKey, err: error });
      });
    },
    release(user) {
      for (const [claimKey, entry] of followed) {
        if (!entry.users.delete(user) || entry.users.size > 0) continue;
        entry.stop.abort();
        followed.delete(claimKey);
      }
    },
    get(claimKey) {
      const entry = followed.get(claimKey);
      return entry?.informer ? entry.informer.get(claimKey) : entry?.read;
    },
    async refresh(signal) {
      if (isAllowed) return;
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
      for (const { stop } of followed.values()) stop.abort();
      followed.clear();
    },
  };
}
