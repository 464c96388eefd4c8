// Lookups in the facts by name and by UID, indexed on first use: thousands of objects may be explained from one reading.

import type {
  Event,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeAttachment,
} from '../api/kinds.ts';
import { type KubeObject, keyOf } from '../api/object.ts';
import { claimNameOf, isTerminated } from '../api/volumes.ts';
import type { NodeName } from '../csi/names/driver-name.ts';
import type { Facts } from './facts.ts';

interface FactIndex {
  readonly volumes: ReadonlyMap<string, PersistentVolume>;
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>;
  readonly classes: ReadonlyMap<string, StorageClass>;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly attachmentsByVolume: ReadonlyMap<string, VolumeAttachment[]>;
  readonly attachmentsByNode: ReadonlyMap<string, VolumeAttachment[]>;
  readonly podsByClaim: ReadonlyMap<string, Pod[]>;
  readonly warningsByUid: ReadonlyMap<string, Event[]>;
}

const indexes = new WeakMap<Facts, FactIndex>();

function indexOf(facts: Facts): FactIndex {
  const known = indexes.get(facts);
  if (known !== undefined) return known;
  const index: FactIndex = {
    volumes: byKey(facts.volumes),
    claims: byKey(facts.claims),
    classes: byKey(facts.classes),
    nodes: byKey(facts.nodes),
    attachmentsByVolume: grouped(facts.attachments, ({ spec: { source } }) => [
      source.persistentVolumeName ?? '',
    ]),
    attachmentsByNode: grouped(facts.attachments, ({ spec }) => [spec.nodeName]),
    podsByClaim: grouped(
      facts.pods.filter((pod) => !isTerminated(pod)),
      (pod) =>
        (pod.spec.volumes ?? []).map((volume) => `${pod.metadata.namespace}/${claimNameOf(pod, volume)}`),
    ),
    warningsByUid: grouped(
      facts.events.filter(({ type }) => type === 'Warning'),
      ({ involvedObject }) => [involvedObject.uid ?? ''],
    ),
  };
  indexes.set(facts, index);
  return index;
}

const byKey = <T extends KubeObject>(objects: readonly T[]): Map<string, T> =>
  new Map(objects.map((object) => [keyOf(object), object]));

function grouped<T>(objects: readonly T[], keysOf: (object: T) => readonly string[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const object of objects) {
    for (const key of keysOf(object)) {
      const group = groups.get(key);
      if (group) group.push(object);
      else groups.set(key, [object]);
    }
  }
  return groups;
}

export const volumeNamed = (facts: Facts, name: string | undefined): PersistentVolume | undefined =>
  indexOf(facts).volumes.get(name ?? '');

export const claimNamed = (
  facts: Facts,
  { namespace, name }: { namespace: string | undefined; name: string },
): PersistentVolumeClaim | undefined => indexOf(facts).claims.get(`${namespace}/${name}`);

export const classNamed = (facts: Facts, name: string | undefined): StorageClass | undefined =>
  indexOf(facts).classes.get(name ?? '');

export const nodeNamed = (facts: Facts, name: NodeName | undefined): Node | undefined =>
  indexOf(facts).nodes.get(name ?? '');

export const attachmentsOf = (facts: Facts, volume: PersistentVolume): readonly VolumeAttachment[] =>
  indexOf(facts).attachmentsByVolume.get(volume.metadata.name) ?? [];

export const attachmentsTo = (facts: Facts, node: NodeName): readonly VolumeAttachment[] =>
  indexOf(facts).attachmentsByNode.get(node) ?? [];

/** Pods that use the claim and have not ended. */
export const podsOf = (facts: Facts, claim: PersistentVolumeClaim): readonly Pod[] =>
  indexOf(facts).podsByClaim.get(keyOf(claim)) ?? [];

export const warningsAbout = (facts: Facts, object: KubeObject): readonly Event[] =>
  indexOf(facts).warningsByUid.get(object.metadata.uid) ?? [];

export type NodeState = 'ready' | 'silent' | 'deleted' | 'unknown';

/** `unknown`: nodes cannot be read. */
export function nodeState(facts: Facts, name: NodeName): NodeState {
  const node = nodeNamed(facts, name);
  if (node !== undefined) return isReady(node) ? 'ready' : 'silent';
  return facts.unread.includes('nodes') ? 'unknown' : 'deleted';
}

export function isReady(node: Node): boolean {
  return node.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}
