// Waits for the caches that a controller decides from: its own, so that one kind which cannot be read holds up only
// those who need it.

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
