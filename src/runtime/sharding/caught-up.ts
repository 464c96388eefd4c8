// Waits until a cache shows at least what the server has now. Another replica may have worked on objects until a moment ago;
// who takes them over must not decide from a cache that is older. One list of the kind for each division that changes.

import { type KubeObject, keyOf } from '../../api/object.ts';
import { isNewer } from '../../api/resource-version.ts';
import type { Informer } from '../informer/informer.ts';
import { ifThere } from '../kube/if-there.ts';
import type { KubeClient } from '../kube/kube.ts';
import { isForbidden, isNotFound } from '../kube/kube-error.ts';
import type { Clock } from '../ports.ts';

const LOOK_MS = 20;

export async function caughtUp<T extends KubeObject>(
  informer: Informer<T>,
  { kube, clock }: { kube: Pick<KubeClient, 'get' | 'list'>; clock: Clock },
): Promise<void> {
  const { resource } = informer;
  let items: T[];
  try {
    ({ items } = await kube.list(resource));
  } catch (error) {
    // An optional kind that this server does not have.
    if (isNotFound(error) || isForbidden(error)) return;
    throw error;
  }
  const there = new Map(items.map((item) => [keyOf(item), item.metadata]));
  const isBehind = ({ metadata }: Pick<T, 'metadata'>): boolean => {
    const cached = informer.get(keyOf({ metadata }));
    return !cached || isNewer(metadata.resourceVersion, cached.metadata.resourceVersion);
  };
  let behind = items.filter(isBehind);
  let extra = informer.list().filter((cached) => !there.has(keyOf(cached)));
  while (behind.length > 0 || extra.length > 0) {
    await clock.sleep(LOOK_MS);
    behind = behind.filter(isBehind);
    const [first] = behind;
    // It may be gone by now, and the cache may never have shown it.
    if (first !== undefined) {
      const { name, namespace } = first.metadata;
      const found = await ifThere(
        kube.get(resource, { name, ...(namespace !== undefined && { namespace }) }),
      );
      if (found?.metadata.uid !== first.metadata.uid) behind = behind.filter((each) => each !== first);
    }
    extra = extra.filter((each) => {
      const cached = informer.get(keyOf(each));
      return cached?.metadata.uid === each.metadata.uid && !there.has(keyOf(each)) && cached === each;
    });
  }
}
