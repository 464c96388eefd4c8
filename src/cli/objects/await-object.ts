// Waits for one object to come into a state, by watching it. On time-out says what the object looks like instead.

import type { KubeObject, ObjectName } from '../../api/object.ts';
import type { KubeClient, ServedResource } from '../../runtime/kube/kube.ts';
import { isExpired } from '../../runtime/kube/kube-error.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { startDeadline } from '../../runtime/time/deadline.ts';

export interface Awaited {
  kube: KubeClient;
  resource: ServedResource;
  at: ObjectName;
  /** 0: as long as it takes. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Undefined when the object does not exist. */
  until(object: KubeObject | undefined): boolean;
}

export async function awaitObject({ kube, resource, at, timeoutMs, signal, until }: Awaited): Promise<void> {
  const label = `${resource.kind.toLowerCase()}/${at.name}`;
  let last: KubeObject | undefined;
  const deadline = startDeadline({
    clock: realClock,
    // A day stands for ever: whoever waits longer has left.
    delayMs: timeoutMs > 0 ? timeoutMs : 86_400_000,
    reason: () => new Error(`${label}: still waiting after ${timeoutMs / 1000} s${waitsFor(last)}`),
    parent: signal,
  });
  const { name, namespace } = at;
  const selection = { fieldSelector: `metadata.name=${name}`, ...(namespace !== undefined && { namespace }) };
  const options = { ...selection, signal: deadline.signal };
  try {
    for (;;) {
      // Read and watched from the same version, so that nothing in between is missed.
      const { items, metadata } = await kube.list(resource, options);
      last = items[0];
      if (until(last)) return;
      const { resourceVersion } = metadata;
      for await (const event of kube.watch(resource, { ...options, resourceVersion })) {
        if (event.type === 'BOOKMARK') continue;
        last = event.type === 'DELETED' ? undefined : event.object;
        if (until(last)) return;
      }
    }
  } catch (error) {
    if (isExpired(error)) return awaitObject({ kube, resource, at, timeoutMs, signal, until });
    throw error;
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
