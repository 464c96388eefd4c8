// Waits until an object is as wanted. One that does not get there in time is shown as it is, with what the programs said.

import type { KubeObject, Resource } from '../../src/api/object.ts';
import type { Informers } from '../../src/runtime/informer/informer.ts';

const STEP_LIMIT_MS = 40_000;

export type Settled = <T extends KubeObject>(
  resource: Resource<T>,
  key: string,
  wanted: (object: T | undefined) => boolean,
) => Promise<T | undefined>;

export function settledIn(
  informers: Informers,
  {
    signal,
    output,
    limitMs = STEP_LIMIT_MS,
  }: { signal: AbortSignal; output: () => string; limitMs?: number },
): Settled {
  return async (resource, key, wanted) => {
    const informer = informers.of(resource);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
    try {
      return await informer.waitFor(key, wanted, limit);
    } catch {
      const now = JSON.stringify(informer.get(key));
      throw new Error(`${resource.kind} ${key} is not as wanted but ${now}\n${output()}`);
    }
  };
}
