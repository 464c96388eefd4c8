// Waits until any object of a kind is as wanted, by watching all of them.

import type { KubeObject, Resource } from '../../api/object.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';

export async function untilAny<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource<T>,
  holds: (object: T) => boolean,
): Promise<T> {
  const signal = AbortSignal.timeout(20_000);
  for await (const event of kube.watch(resource, { sendInitialEvents: true, allowBookmarks: true, signal })) {
    if (event.type !== 'BOOKMARK' && holds(event.object)) return event.object;
  }
  throw new Error('the watch ended');
}
