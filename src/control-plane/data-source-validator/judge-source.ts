// Whether somebody populates volumes from the data source that a claim names. Pure.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type VolumePopulator,
  volumeSnapshots,
} from '../../api/kinds.ts';

/** The values of the official counter's label. */
export type SourceVerdict = 'empty' | 'pvc' | 'snapshot' | 'populator' | 'invalid';

export function judgeSource(
  { spec }: PersistentVolumeClaim,
  populators: readonly VolumePopulator[],
): SourceVerdict {
  const { dataSourceRef } = spec;
  if (dataSourceRef === undefined) return 'empty';
  const { apiGroup = '', kind } = dataSourceRef;
  const is = (other: { group: string; kind: string }): boolean =>
    other.group === apiGroup && other.kind === kind;
  if (is(persistentVolumeClaims)) return 'pvc';
  if (is(volumeSnapshots)) return 'snapshot';
  return populators.some(({ sourceKind }) => is(sourceKind)) ? 'populator' : 'invalid';
}
