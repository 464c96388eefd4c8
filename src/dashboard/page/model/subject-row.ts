// The row of the object that a route names. Pure.

import type {
  ClassRow,
  DriverRow,
  GroupRow,
  NodeRow,
  PodRow,
  SnapshotRow,
  VolumeRow,
} from '../../page-messages.ts';
import type { KeyedTables } from './model.ts';
import type { Subject } from './routes.ts';

export type SubjectRow =
  | { readonly kind: 'volume'; readonly row: VolumeRow }
  | { readonly kind: 'pod'; readonly row: PodRow }
  | { readonly kind: 'snapshot'; readonly row: SnapshotRow }
  | { readonly kind: 'group'; readonly row: GroupRow }
  | { readonly kind: 'node'; readonly row: NodeRow }
  | { readonly kind: 'driver'; readonly row: DriverRow }
  | { readonly kind: 'class'; readonly row: ClassRow };

/** A bound volume is in its claim's row. */
export function rowOf(tables: KeyedTables, { kind, namespace, name }: Subject): SubjectRow | undefined {
  const key = `${namespace}/${name}`;
  const found = <K extends string, R>(as: K, row: R | undefined): { kind: K; row: R } | undefined =>
    row === undefined ? undefined : { kind: as, row };
  switch (kind) {
    case 'claim':
      return found('volume', tables.volumes.get(`claim ${key}`));
    case 'volume':
      return found(
        'volume',
        tables.volumes.get(`volume ${name}`) ??
          [...tables.volumes.values()].find((row) => row.subject === 'claim' && row.volume === name),
      );
    case 'pod':
      return found(kind, tables.pods.get(key));
    case 'snapshot':
      return found(kind, tables.snapshots.get(key));
    case 'group':
      return found(kind, tables.groups.get(key));
    case 'node':
      return found(kind, tables.nodes.get(name));
    case 'driver':
      return found(kind, tables.drivers.get(name));
    case 'class':
      return found(kind, tables.classes.get(name));
    default:
      return kind satisfies never;
  }
}
