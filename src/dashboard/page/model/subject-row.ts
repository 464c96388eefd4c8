// The row of the object that a route names. Pure.

import type { PodRow, VolumeRow } from '../../page-messages.ts';
import type { KeyedTables } from './model.ts';
import type { Subject } from './routes.ts';

/** A bound volume is in its claim's row. */
export function rowOf({ volumes, pods }: KeyedTables, subject: Subject): VolumeRow | PodRow | undefined {
  const { kind, namespace, name } = subject;
  if (kind === 'pod')
    return [...pods.values()].find((row) => row.name === name && row.namespace === namespace);
  return [...volumes.values()].find((row) =>
    kind === 'claim'
      ? row.subject === 'claim' && row.name === name && row.namespace === namespace
      : row.subject === 'volume'
        ? row.name === name
        : row.volume === name,
  );
}
