// Waits for an object of the embedded server to become as wanted, without asking again and again.

import type { KubeObject, ObjectName, Resource } from '../api/object.ts';
import type { Reader } from '../apiserver/pipeline.ts';
import type { Clock } from '../runtime/ports.ts';
import { startDeadline } from '../runtime/time/deadline.ts';

export interface AwaitOptions {
  reader: Reader;
  clock: Clock;
  withinMs: number;
  signal: AbortSignal;
}

/** Resolves with the object once `holds` does, for its absence (`undefined`) too; rejects when time is up. */
export async function awaitObject<T extends KubeObject>(
  resource: Resource<T>,
  name: ObjectName,
  holds: (object: T | undefined) => boolean,
  { reader, clock, withinMs, signal }: AwaitOptions,
): Promise<T | undefined> {
  const deadline = startDeadline({
    clock,
    delayMs: withinMs,
    reason: () => new Error(`${resource.kind} ${name.name} did not become as wanted within ${withinMs} ms`),
    parent: signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  const look = (): void => {
    const object = reader.get(resource, name);
    if (holds(object)) resolve(object);
  };
  const give = (): void => reject(deadline.signal.reason);
  const unsubscribe = reader.subscribe(resource, look);
  deadline.signal.addEventListener('abort', give, { once: true });
  if (deadline.signal.aborted) give();
  look();
  try {
    return await promise;
  } finally {
    unsubscribe();
    deadline.cancel();
  }
}
