// The data source of a claim. Whether a source in another namespace is allowed: reference-grants.ts. Pure.

import type { PersistentVolumeClaim } from '../../../api/kinds.ts';
import { permanentProblem } from '../planning/claim-problem.ts';

const SNAPSHOT_GROUP = 'snapshot.storage.k8s.io';

export type DataSource =
  | { kind: 'snapshot' | 'claim'; name: string; namespace: string }
  /** Another kind: a volume populator creates the volume, and the provisioner ignores the claim. */
  | { kind: 'populator'; what: string };

export function dataSourceOf(claim: PersistentVolumeClaim): DataSource | undefined {
  const { dataSource, dataSourceRef } = claim.spec;
  const source = dataSource ?? dataSourceRef;
  if (!source) return undefined;
  const own = claim.metadata.namespace ?? '';
  const namespace = (!dataSource && dataSourceRef?.namespace) || own;
  const { apiGroup = '', kind, name } = source;
  if (kind === 'VolumeSnapshot' && apiGroup === SNAPSHOT_GROUP) return { kind: 'snapshot', name, namespace };
  if (kind === 'PersistentVolumeClaim' && !apiGroup) return { kind: 'claim', name, namespace };
  const expected = { VolumeSnapshot: SNAPSHOT_GROUP, PersistentVolumeClaim: '""' }[kind];
  if (expected !== undefined) {
    throw permanentProblem(
      `the PVC source does not belong to the right APIGroup. Expected ${expected}, Got ${apiGroup}`,
    );
  }
  return { kind: 'populator', what: apiGroup ? `${kind}.${apiGroup}` : kind };
}

/** The snapshot or claim that is a claim's data source, as `snapshot:ns/name`; for indexes. Never throws. */
export function sourceKeyOf(claim: PersistentVolumeClaim): string | undefined {
  try {
    const source = dataSourceOf(claim);
    if (!source || source.kind === 'populator') return undefined;
    return sourceKey(source);
  } catch {
    return undefined;
  }
}

export function sourceKey(source: { kind: 'snapshot' | 'claim'; name: string; namespace: string }): string {
  return `${source.kind}:${source.namespace}/${source.name}`;
}
