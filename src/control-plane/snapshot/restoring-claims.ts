// Which claims are being provisioned from a snapshot: those that name it and have no volume yet. Watches claims.

import { type PersistentVolumeClaim, volumeSnapshots } from '../../api/kinds.ts';
import type { Informer } from '../../runtime/informer/informer.ts';

const RESTORING_BY_SNAPSHOT = 'snapshot-controller/restoring-by-snapshot';

/** `namespace/name` of the snapshot that a claim is provisioned from, bound or not. */
export function snapshotSourceOf({ metadata, spec }: PersistentVolumeClaim): string | undefined {
  const source = spec.dataSource ?? spec.dataSourceRef;
  if (source?.kind !== volumeSnapshots.kind || source.apiGroup !== volumeSnapshots.group) return undefined;
  const namespace = (!spec.dataSource && spec.dataSourceRef?.namespace) || metadata.namespace;
  return `${namespace}/${source.name}`;
}

export function indexRestoringClaims(
  claims: Informer<PersistentVolumeClaim>,
): (snapshotKey: string) => readonly PersistentVolumeClaim[] {
  claims.addIndex(RESTORING_BY_SNAPSHOT, (claim) => {
    const key = isPending(claim) ? snapshotSourceOf(claim) : undefined;
    return key === undefined ? [] : [key];
  });
  return (key) => claims.byIndex(RESTORING_BY_SNAPSHOT, key);
}

const isPending = ({ status }: PersistentVolumeClaim): boolean => (status?.phase ?? 'Pending') === 'Pending';
