// Explains the state of a pod, claim or volume: the chain from it to its storage, up to the first link that is not well. Pure.

import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import type { Link } from './chain.ts';
import { explainClaim } from './explain-claim.ts';
import { explainPod } from './explain-pod.ts';
import { explainVolume } from './explain-volume.ts';
import type { Facts } from './facts.ts';
import { isWhole } from './link.ts';

export type Subject = 'pod' | 'claim' | 'volume';

export function explain(facts: Facts, subject: Subject, asked: KubeObject): Link[] {
  if (subject === 'pod') return explainPod(facts, asked as Pod);
  if (subject === 'volume') return explainVolume(facts, asked as PersistentVolume);
  const claim = asked as PersistentVolumeClaim;
  const links = explainClaim(facts, claim);
  const volume = facts.volumes.find(({ metadata }) => metadata.name === claim.spec.volumeName);
  return isWhole(links) && volume ? [...links, ...explainVolume(facts, volume)] : links;
}
