// Deletes Events an hour after they were last seen, as Kubernetes does, and the oldest beyond a maximum number, since
// they would otherwise fill the store. Sets a timer only while there are any.

import { type Event, events } from '../api/kinds.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isNotFound } from '../runtime/kube/kube-error.ts';
import type { Clock, Log, Timer } from '../runtime/ports.ts';
import type { Reader } from './pipeline.ts';

const KEPT_MS = 3_600_000;
/** The store is in memory: about 10 MB of events. */
const MOST_KEPT = 2_500;
/** Deletions in flight. */
const AT_ONCE = 50;
/** Deletion in batches costs less than one timer per event. */
const PERIOD_MS = 60_000;

export function followEvents(ports: {
  client: KubeClient;
  reader: Reader;
  clock: Clock;
  log: Log;
}): () => void {
  const { client, reader, clock, log } = ports;
  let timer: Timer | undefined;

  const remove = async ({ metadata }: Event): Promise<void> => {
    const { namespace = '', name, resourceVersion } = metadata;
    try {
      // An event that was seen again meanwhile stays.
      await client.delete(events, { namespace, name }, { preconditions: { resourceVersion } });
    } catch (error) {
      if (!isNotFound(error)) log.v(2).info('an old event was not removed', { name, error: String(error) });
    }
  };
  const sweep = async (): Promise<void> => {
    const limitMs = clock.now() - KEPT_MS;
    const byAge = [...reader.list(events)]
      .map((event) => ({ event, seenMs: lastSeenMs(event) }))
      .sort((a, b) => a.seenMs - b.seenMs);
    const surplus = byAge.length - MOST_KEPT;
    const old = byAge.filter(({ seenMs }, index) => seenMs < limitMs || index < surplus);
    for (let at = 0; at < old.length; at += AT_ONCE) {
      await Promise.all(old.slice(at, at + AT_ONCE).map(({ event }) => remove(event)));
    }
    if (byAge.length > old.length) arm();
  };
  const arm = (): void => {
    timer ??= clock.setTimeout(() => {
      timer = undefined;
      void sweep();
    }, PERIOD_MS);
  };
  if (!reader.list(events)[Symbol.iterator]().next().done) arm();
  const unsubscribe = reader.subscribe(events, (_before, after) => {
    if (after !== undefined) arm();
  });
  return () => {
    unsubscribe();
    timer?.cancel();
  };
}

function lastSeenMs({ metadata, lastTimestamp, eventTime, series }: Event): number {
  const times = [metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime];
  return Math.max(...times.map((time) => Date.parse(time ?? '') || 0));
}
