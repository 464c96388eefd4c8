// The cluster's state in one line: counts of pods, claims and volumes by state.

import { persistentVolumeClaims, pods, volumeAttachments } from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import type { Reader } from '../apiserver/pipeline.ts';
import type { Clock, Timer } from '../runtime/ports.ts';

function clusterStatus(reader: Reader): string {
  const claims = counted(reader, persistentVolumeClaims, ({ status }) => status?.phase === 'Bound');
  const attachments = counted(reader, volumeAttachments, ({ status }) => status?.attached === true);
  const running = counted(reader, pods, ({ status }) => status?.phase === 'Running');
  return `claims ${claims} bound · volumes ${attachments} attached · pods ${running} running`;
}

function counted<T extends KubeObject>(
  reader: Reader,
  resource: Resource<T>,
  holds: (object: T) => boolean,
): string {
  const all = [...reader.list(resource)];
  return `${all.filter(holds).length}/${all.length}`;
}

/** Calls `show` with the status whenever it may have changed, at most once in `everyMs`. Returns a function that stops it. */
export function followStatus(options: {
  reader: Reader;
  clock: Clock;
  everyMs: number;
  show: (status: string) => void;
}): () => void {
  const { reader, clock, everyMs, show } = options;
  let timer: Timer | undefined;
  let last = '';
  const look = (): void => {
    timer = undefined;
    const status = clusterStatus(reader);
    if (status === last) return;
    last = status;
    show(status);
  };
  const soon = (): void => {
    timer ??= clock.setTimeout(look, everyMs);
  };
  const unsubscribes = [persistentVolumeClaims, volumeAttachments, pods].map((resource) =>
    reader.subscribe<KubeObject>(resource as Resource, soon),
  );
  return () => {
    timer?.cancel();
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}
