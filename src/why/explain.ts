// Explains the state of one object: the chain from it to its storage, up to the first link that is not well. Pure.

import type {
  CSIDriver,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeGroupSnapshot,
  VolumeSnapshot,
} from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import type { Link } from './chain.ts';
import { explainClaim } from './explain-claim.ts';
import { faultsSet, withFaults } from './explain-faults.ts';
import { explainChanges } from './explain-growth.ts';
import { explainClass, explainDriver, explainNode } from './explain-parts.ts';
import { explainPod } from './explain-pod.ts';
import { explainGroup, explainSnapshot } from './explain-snapshot.ts';
import { explainVolume } from './explain-volume.ts';
import { volumeNamed } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { isWhole } from './link.ts';

interface Explained {
  pod: Pod;
  claim: PersistentVolumeClaim;
  volume: PersistentVolume;
  snapshot: VolumeSnapshot;
  group: VolumeGroupSnapshot;
  node: Node;
  driver: CSIDriver;
  class: StorageClass;
}
export type ExplainedKind = keyof Explained;

const EXPLAIN: { readonly [K in ExplainedKind]: (facts: Facts, object: Explained[K]) => Link[] } = {
  pod: explainPod,
  claim: explainClaimAndVolume,
  volume: explainVolume,
  snapshot: explainSnapshot,
  group: explainGroup,
  node: explainNode,
  driver: explainDriver,
  class: explainClass,
};

export function explain(facts: Facts, kind: ExplainedKind, asked: KubeObject): Link[] {
  const links = EXPLAIN[kind](facts, asked as never);
  // A driver says so itself.
  const told = kind === 'driver' ? undefined : faultsSet(facts);
  // Whatever does not work may be what somebody broke.
  return told === undefined
    ? links
    : links.map((link) => (link.state === 'ok' ? link : withFaults(link, told)));
}

function explainClaimAndVolume(facts: Facts, claim: PersistentVolumeClaim): Link[] {
  const links = explainClaim(facts, claim);
  const volume = volumeNamed(facts, claim.spec.volumeName);
  if (isWhole(links) && volume) links.push(...explainVolume(facts, volume));
  return isWhole(links) ? [...links, ...explainChanges(facts, claim)] : links;
}
