// Waits for one object to reach a state, by watching it. The error on time-out says what still holds the object up.

import type { KubeObject, ObjectName, Resource } from '../../api/object.ts';
import type { Clock } from '../ports.ts';
import { startDeadline } from '../time/deadline.ts';
import type { KubeClient } from './kube.ts';
import { isExpired } from './kube-error.ts';

export interface AwaitObject<T extends KubeObject> {
  kube: KubeClient;
  clock: Clock;
  resource: Resource<T>;
  at: ObjectName;
  /** 0: without limit. */
  timeoutMs: number;
  signal: AbortSignal;
  /** `undefined`: the object does not exist. */
  until(object: T | undefined): boolean;
}

/** A timer needs some delay; nobody waits for a day. */
const NO_LIMIT_MS = 86_400_000;

/** Resolves with the object as it was when `until` first held. */
export async function awaitObject<T extends KubeObject>(wanted: AwaitObject<T>): Promise<T | undefined> {
  const { kube, clock, resource, at, timeoutMs, signal, until } = wanted;
  const { name, namespace } = at;
  let last: T | undefined;
  const deadline = startDeadline({
    clock,
    delayMs: timeoutMs > 0 ? timeoutMs : NO_LIMIT_MS,
    reason: () =>
      new Error(
        `${resource.kind.toLowerCase()}/${name}: still waiting after ${timeoutMs / 1000} s${waitsFor(last)}`,
      ),
    parent: signal,
  });
  const options = {
    fieldSelector: `metadata.name=${name}`,
    ...(namespace !== undefined && { namespace }),
    signal: deadline.signal,
  };
  try {
    for (;;) {
      // Read and watched from the same version, so that nothing in between is missed.
      const { items, metadata } = await kube.list(resource, options);
      last = items[0];
      if (until(last)) return last;
      const { resourceVersion } = metadata;
      try {
        for await (const event of kube.watch(resource, { ...options, resourceVersion })) {
          if (event.type === 'BOOKMARK') continue;
          last = event.type === 'DELETED' ? undefined : event.object;
          if (until(last)) return last;
        }
      } catch (error) {
        // The server has forgotten that version: read again.
        if (!isExpired(error)) throw error;
      }
    }
  } finally {
    deadline.cancel();
  }
}

/** What keeps an object that is being deleted. */
function waitsFor(object: KubeObject | undefined): string {
  const { deletionTimestamp, finalizers = [] } = object?.metadata ?? {};
  if (!deletionTimestamp) return '';
  return finalizers.length > 0
    ? `; it is being deleted and waits for its finalizers ${finalizers.join(', ')}`
    : '; it is being deleted';
}
