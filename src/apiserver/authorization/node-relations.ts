// Which nodes need which objects: node ← pod ← Secret, ConfigMap, ServiceAccount, claim ← volume ← Secret. Edges are
// counted as pods and volumes are added and removed, so that a query costs two lookups whatever the size of the
// cluster.

import type { PersistentVolume, Pod } from '../../api/kinds.ts';
import { persistentVolumes, pods } from '../../api/kinds.ts';
import type { Reader } from '../pipeline.ts';
import { claimsOf, podReferences, secretsOfVolume } from './node-references.ts';

export type RelatedKind = 'secret' | 'configmap' | 'serviceaccount' | 'claim' | 'volume';

export interface NodeRelations {
  /** `key` in the format of `keyOf`. */
  isRelated(node: string, kind: RelatedKind, key: string): boolean;
}

export function createNodeRelations(reader: Reader): NodeRelations {
  /** `kind key` to node to the number of paths between them. */
  const counts = new Map<string, Map<string, number>>();
  const volumesByClaim = new Map<string, Map<string, PersistentVolume>>();

  function change(kind: RelatedKind, key: string, node: string, by: 1 | -1): 'appeared' | 'gone' | 'stayed' {
    const id = `${kind} ${key}`;
    const byNode = counts.get(id) ?? new Map<string, number>();
    const before = byNode.get(node) ?? 0;
    const now = before + by;
    if (now > 0) byNode.set(node, now);
    else byNode.delete(node);
    if (byNode.size > 0) counts.set(id, byNode);
    else counts.delete(id);
    if (before === 0) return 'appeared';
    return now === 0 ? 'gone' : 'stayed';
  }

  function changeVolume(volume: PersistentVolume, node: string, by: 1 | -1): void {
    change('volume', volume.metadata.name, node, by);
    for (const secret of secretsOfVolume(volume)) change('secret', secret, node, by);
  }

  function changeClaim(claim: string, node: string, by: 1 | -1): void {
    if (change('claim', claim, node, by) === 'stayed') return;
    for (const volume of volumesByClaim.get(claim)?.values() ?? []) changeVolume(volume, node, by);
  }

  function changePod(pod: Pod, by: 1 | -1): void {
    const node = pod.spec.nodeName;
    if (!node) return;
    for (const { kind, key } of podReferences(pod)) change(kind, key, node, by);
    for (const claim of claimsOf(pod)) changeClaim(claim, node, by);
  }

  function changePersistentVolume(volume: PersistentVolume, by: 1 | -1): void {
    const { namespace, name } = volume.spec.claimRef ?? {};
    if (!namespace || !name) return;
    const claim = `${namespace}/${name}`;
    const volumes = volumesByClaim.get(claim) ?? new Map<string, PersistentVolume>();
    if (by > 0) volumes.set(volume.metadata.name, volume);
    else volumes.delete(volume.metadata.name);
    if (volumes.size > 0) volumesByClaim.set(claim, volumes);
    else volumesByClaim.delete(claim);
    for (const node of counts.get(`claim ${claim}`)?.keys() ?? []) changeVolume(volume, node, by);
  }

  for (const volume of reader.list(persistentVolumes)) changePersistentVolume(volume, 1);
  for (const pod of reader.list(pods)) changePod(pod, 1);
  reader.subscribe(persistentVolumes, (before, after) => {
    if (before?.spec === after?.spec) return;
    if (before) changePersistentVolume(before, -1);
    if (after) changePersistentVolume(after, 1);
  });
  reader.subscribe(pods, (before, after) => {
    if (before?.spec === after?.spec) return;
    // New edges first: what both versions need stays reachable, and nothing is rebuilt for it.
    if (after) changePod(after, 1);
    if (before) changePod(before, -1);
  });

  return {
    isRelated: (node, kind, key) => counts.get(`${kind} ${key}`)?.has(node) ?? false,
  };
}
