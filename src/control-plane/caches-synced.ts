// Waits until the caches of one controller are synced. Each controller waits for its own only, so a kind that cannot be
// listed blocks only the controllers that need it.

import type { KubeObject } from '../api/object.ts';
import type { Informer } from '../runtime/informer/informer.ts';

/** False when `signal` aborted first. */
export async function cachesSynced(
  informers: readonly Pick<Informer<KubeObject>, 'synced'>[],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await Promise.all(informers.map((informer) => informer.synced(signal)));
    return !signal.aborted;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
