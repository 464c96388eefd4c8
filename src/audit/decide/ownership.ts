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

/** The first name of the form PREFIX-UID. */
function nameIn(texts: readonly string[]): { prefix: string; uid: string } | undefined {
  for (const text of texts) {
    const [, prefix, uid] = NAME.exec(text) ?? [];
    if (prefix !== undefined && uid !== undefined) return { prefix, uid };
  }
  return undefined;
}

export function volumeOwner(index: FactIndex, volume: StorageVolume, options: JudgeOptions): Ownership {
  const { context, id } = volume;
  const marked = byMark(index, context, options);
  if (marked?.owner === 'theirs') return marked;
  const name = nameIn([id, ...Object.values(context)]);
  const uid = name && { uid: name.uid };
  if (name && index.knownUids.has(name.uid))
    return { owner: 'ours', why: `it was made for claim UID ${name.uid}, which this cluster knows`, ...uid };
  if (name && !isOurPrefix(name.prefix, options)) {
    const why = `its name begins with ${name.prefix}, not with ${options.volumeNamePrefix}`;
    return { owner: 'theirs', why, ...uid };
  }
  const { contents = [], groupContents = [] } = index.cluster;
  if (
    contents.some(({ source }) => source === id) ||
    groupContents.some(({ sources }) => sources.includes(id))
  )
    return { owner: 'ours', why: 'this cluster has a snapshot of it', ...uid };
  if (marked) return { ...marked, ...uid };
  if (options.isExclusive)
    return { owner: 'ours', why: 'the storage is declared to be this cluster’s alone', ...uid };
  if (name)
    return {
      owner: 'unknown',
      why: `it was made for claim UID ${name.uid}, which this cluster does not know`,
      ...uid,
    };
  return { owner: 'unknown', why: 'nothing shows that it was made for this cluster' };
}

export function snapshotOwner(
  index: FactIndex,
  { id, source }: StorageSnapshot,
  options: JudgeOptions,
): Ownership {
  const name = nameIn([id]);
  const uid = name && { uid: name.uid };
  if (name && index.knownUids.has(name.uid))
    return { owner: 'ours', why: `it was made for UID ${name.uid}, which this cluster knows`, ...uid };
  if (index.volumesByHandle.has(source))
    return { owner: 'ours', why: `it is of volume ${source}, which a PersistentVolume names`, ...uid };
  const volume = index.storage.volumes?.get(source);
  const ofVolume = volume && volumeOwner(index, volume, options);
  if (ofVolume && ofVolume.owner !== 'unknown')
    return { owner: ofVolume.owner, why: `of its volume ${source}: ${ofVolume.why}`, ...uid };
  if (options.isExclusive)
    return { owner: 'ours', why: 'the storage is declared to be this cluster’s alone', ...uid };
  return { owner: 'unknown', why: 'nothing shows that it was made for this cluster', ...uid };
}

function isOurPrefix(prefix: string, { volumeNamePrefix }: JudgeOptions): boolean {
  // Drivers put more in front of the name.
  return prefix === volumeNamePrefix || prefix.endsWith(`-${volumeNamePrefix}`);
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
