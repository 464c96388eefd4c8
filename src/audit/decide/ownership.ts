// Whose a volume or snapshot is that no object of this cluster names. Storage is often shared: what cannot be shown to be this
// cluster's may be another's, and is never deleted. Pure.

import type { StorageSnapshot, StorageVolume } from '../facts.ts';
import { clusterMarks } from '../gather/rows.ts';
import type { FactIndex } from './fact-index.ts';
import type { JudgeOptions } from './options.ts';

export interface Ownership {
  readonly owner: 'ours' | 'unknown' | 'theirs';
  readonly why: string;
  /** UID of the claim or snapshot that it was made for, where its name says so. */
  readonly uid?: string;
}

const NAME = /([A-Za-z0-9][A-Za-z0-9._-]*?)-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/;

/**
 * The UID in the first name that a provisioner of this cluster could have given. Drivers put more in front of it, and have IDs of
 * their own with UUIDs that are nobody's UID.
 */
function uidIn(texts: readonly string[], prefix: string): string | undefined {
  for (const text of texts) {
    const [, given = '', uid] = NAME.exec(text) ?? [];
    if (given === prefix || given.endsWith(`-${prefix}`)) return uid;
  }
  return undefined;
}

export function volumeOwner(index: FactIndex, volume: StorageVolume, options: JudgeOptions): Ownership {
  const { context, id } = volume;
  const marked = byMark(index, context, options);
  if (marked?.owner === 'theirs') return marked;
  const found = uidIn([id, ...Object.values(context)], options.volumeNamePrefix);
  const uid = found === undefined ? {} : { uid: found };
  if (found !== undefined && index.knownUids.has(found))
    return { owner: 'ours', why: `it was made for claim UID ${found}, which this cluster knows`, ...uid };
  const { contents = [], groupContents = [] } = index.cluster;
  if (
    contents.some(({ source }) => source === id) ||
    groupContents.some(({ sources }) => sources.includes(id))
  )
    return { owner: 'ours', why: 'this cluster has a snapshot of it', ...uid };
  if (marked) return { ...marked, ...uid };
  if (options.isExclusive) return { owner: 'ours', why: EXCLUSIVE, ...uid };
  const why =
    found === undefined
      ? 'nothing shows that it was made for this cluster'
      : `it was made for claim UID ${found}, which this cluster does not know`;
  return { owner: 'unknown', why, ...uid };
}

const EXCLUSIVE = 'no other cluster uses this storage';

export function snapshotOwner(
  index: FactIndex,
  { id, source }: StorageSnapshot,
  options: JudgeOptions,
): Ownership {
  const found = uidIn([id], 'snapshot');
  if (found !== undefined && index.knownUids.has(found))
    return { owner: 'ours', why: `it was made for UID ${found}, which this cluster knows` };
  if (index.volumesByHandle.has(source))
    return { owner: 'ours', why: `it is of volume ${source}, which a PersistentVolume names` };
  const volume = index.storage.volumes?.get(source);
  const ofVolume = volume && volumeOwner(index, volume, options);
  if (ofVolume && ofVolume.owner !== 'unknown')
    return { owner: ofVolume.owner, why: `of its volume ${source}: ${ofVolume.why}` };
  if (options.isExclusive) return { owner: 'ours', why: EXCLUSIVE };
  return { owner: 'unknown', why: 'nothing shows that it was made for this cluster' };
}

/** By a mark in the volume's context: the given one, or one that this cluster's own volumes and classes carry. */
function byMark(
  { cluster }: FactIndex,
  context: Readonly<Record<string, string>>,
  { clusterMark }: JudgeOptions,
): Ownership | undefined {
  if (clusterMark) {
    const { key, value } = clusterMark;
    const found = Object.hasOwn(context, key) ? context[key] : undefined;
    if (found === undefined) return undefined;
    if (found === value) return { owner: 'ours', why: `its ${key} is ${value}` };
    return { owner: 'theirs', why: `its ${key} is ${found}, not ${value}` };
  }
  for (const [key, value] of Object.entries(clusterMarks(context))) {
    const ours = new Set(
      [...cluster.volumes, ...cluster.classes].flatMap((each) => each.clusterMarks[key] ?? []),
    );
    if (ours.size > 0 && !ours.has(value))
      return {
        owner: 'theirs',
        why: `its ${key} is ${value}, this cluster's volumes have ${[...ours].join(', ')}`,
      };
  }
  return undefined;
}
