// The next steps for a StatefulSet, from a snapshot of its pods and claims. Pure: the controller performs them.
//
// There are three phases; each runs only when the previous one has nothing to wait for. Members are created from the
// first to the last, each when its predecessors are available. Members beyond the number of replicas are deleted from
// the last. Members of an older template are replaced from the last. With the Parallel policy creating and scaling down
// do not wait for other members; replacing is always one by one.

import type { PersistentVolumeClaim, Pod, StatefulSet } from '../../api/kinds.ts';
import type { Draft, OwnerReference } from '../../api/object.ts';
import { isTerminated } from '../../api/volumes.ts';
import { decideClaimOwners } from './claim-owners.ts';
import { availableInMs, isReady } from './pod-availability.ts';
import {
  claimsFor,
  firstOrdinal,
  LABEL_REVISION,
  ordinalsOf,
  ownedBySet,
  parentAndOrdinal,
  podFor,
  podNameOf,
  revisionOf,
} from './set-members.ts';

export interface SetSnapshot {
  set: StatefulSet;
  /** The pods that the set controls. */
  pods: readonly Pod[];
  /** By name, in the set's namespace. */
  claimNamed(name: string): PersistentVolumeClaim | undefined;
  nowMs: number;
}

export type SetStep =
  | { do: 'create-claim'; claim: Draft<PersistentVolumeClaim>; podName: string }
  | { do: 'create-pod'; pod: Draft<Pod> }
  | { do: 'delete-pod'; pod: Pod; why: string }
  | { do: 'set-claim-owners'; claim: PersistentVolumeClaim; owners: OwnerReference[] }
  /** Run again after this time. Other waits end with a watched change. */
  | { do: 'wait'; ms: number; why: string };

/** The steps of one phase, and whether the later phases have to wait. */
interface Phase {
  steps: SetStep[];
  blocked: boolean;
}

export function decideSet(snapshot: SetSnapshot): SetStep[] {
  if (snapshot.set.metadata.deletionTimestamp) return [];
  const created = createMembers(snapshot);
  if (created.blocked) return created.steps;
  const scaled = scaleDown(snapshot);
  const steps = [...created.steps, ...scaled.steps];
  return scaled.blocked ? steps : [...steps, ...replaceMembers(snapshot)];
}

function createMembers(snapshot: SetSnapshot): Phase {
  const { set } = snapshot;
  const byOrdinal = podsByOrdinal(snapshot);
  const steps: SetStep[] = [];
  for (const ordinal of ordinalsOf(set)) {
    const pod = byOrdinal.get(ordinal);
    const member = pod ? keepMember(snapshot, pod, ordinal) : createMember(snapshot, ordinal);
    steps.push(...member.steps);
    // A Parallel set continues with scaling down and replacing while members are being created.
    if (member.blocked && !isParallel(set)) return { steps, blocked: true };
  }
  return { steps, blocked: false };
}

function createMember(snapshot: SetSnapshot, ordinal: number): Phase {
  const { set, claimNamed } = snapshot;
  const name = podNameOf(set, ordinal);
  const drafts = claimsFor(set, ordinal);
  // A claim that is being deleted, or owned by an earlier pod of this name, would be deleted under the new pod.
  const isGoing = drafts.some(({ metadata }) => {
    const claim = claimNamed(metadata.name ?? '');
    const owners = claim?.metadata.ownerReferences ?? [];
    return (
      claim?.metadata.deletionTimestamp || owners.some((each) => each.kind === 'Pod' && each.name === name)
    );
  });
  if (isGoing) return { steps: [], blocked: true };
  return {
    steps: [...missingClaims(snapshot, ordinal), { do: 'create-pod', pod: podFor(set, ordinal) }],
    blocked: true,
  };
}

function keepMember(snapshot: SetSnapshot, pod: Pod, ordinal: number): Phase {
  const { set, nowMs } = snapshot;
  const isTerminating = pod.metadata.deletionTimestamp !== undefined;
  if (isTerminated(pod)) {
    const why = `it has ended with phase ${pod.status?.phase}`;
    return { steps: isTerminating ? [] : [{ do: 'delete-pod', pod, why }], blocked: true };
  }
  const steps: SetStep[] = pod.status?.phase === 'Pending' ? missingClaims(snapshot, ordinal) : [];
  steps.push(...claimOwners(snapshot, pod, ordinal));
  if (isTerminating || !isReady(pod)) return { steps, blocked: true };
  const waitMs = availableInMs(pod, set.spec?.minReadySeconds ?? 0, nowMs);
  if (waitMs === 0) return { steps, blocked: false };
  return {
    steps: [...steps, { do: 'wait', ms: waitMs, why: `${pod.metadata.name} is ready but not yet available` }],
    blocked: true,
  };
}

function scaleDown(snapshot: SetSnapshot): Phase {
  const { set } = snapshot;
  const condemned = condemnedPods(snapshot);
  const steps = condemned.flatMap(({ pod, ordinal }) => claimOwners(snapshot, pod, ordinal));
  const remove = (pod: Pod): SetStep => ({ do: 'delete-pod', pod, why: 'the set was scaled down' });
  if (isParallel(set)) {
    for (const { pod } of condemned) if (!pod.metadata.deletionTimestamp) steps.push(remove(pod));
    return { steps, blocked: false };
  }
  const [last] = condemned;
  if (last === undefined) return { steps, blocked: false };
  // The last member is deleted. If it is itself unhealthy, it is deleted only when all before it are healthy.
  const isStuck = condemned.slice(1).some(({ pod }) => !isReady(pod) || pod.metadata.deletionTimestamp);
  if (!last.pod.metadata.deletionTimestamp && (isReady(last.pod) || !isStuck)) steps.push(remove(last.pod));
  return { steps, blocked: true };
}

function replaceMembers(snapshot: SetSnapshot): SetStep[] {
  const { set, nowMs } = snapshot;
  const strategy = set.spec?.updateStrategy;
  if (strategy?.type === 'OnDelete') return [];
  const partition = Math.max(strategy?.rollingUpdate?.partition ?? 0, firstOrdinal(set));
  const byOrdinal = podsByOrdinal(snapshot);
  const revision = revisionOf(set);
  for (const ordinal of ordinalsOf(set).reverse()) {
    if (ordinal < partition) break;
    const pod = byOrdinal.get(ordinal);
    if (!pod) return [];
    if (pod.metadata.labels?.[LABEL_REVISION] !== revision) {
      if (pod.metadata.deletionTimestamp) return [];
      return [{ do: 'delete-pod', pod, why: 'the template has changed' }];
    }
    const isAvailable = isReady(pod) && availableInMs(pod, set.spec?.minReadySeconds ?? 0, nowMs) === 0;
    if (!isAvailable || pod.metadata.deletionTimestamp) return [];
  }
  return [];
}

function missingClaims({ set, claimNamed }: SetSnapshot, ordinal: number): SetStep[] {
  const podName = podNameOf(set, ordinal);
  return claimsFor(set, ordinal).flatMap((draft): SetStep[] => {
    if (claimNamed(draft.metadata.name ?? '')) return [];
    const { whenDeleted } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
    const ownerReferences = whenDeleted === 'Delete' ? [ownedBySet(set)] : [];
    const claim = { ...draft, metadata: { ...draft.metadata, ownerReferences } };
    return [{ do: 'create-claim', claim, podName }];
  });
}

function claimOwners({ set, claimNamed }: SetSnapshot, pod: Pod, ordinal: number): SetStep[] {
  const isScaledAway = !ordinalsOf(set).includes(ordinal);
  return claimsFor(set, ordinal).flatMap((draft): SetStep[] => {
    const claim = claimNamed(draft.metadata.name ?? '');
    if (!claim || claim.metadata.deletionTimestamp) return [];
    const owners = decideClaimOwners({ set, claim, pod, isScaledAway });
    return owners ? [{ do: 'set-claim-owners', claim, owners }] : [];
  });
}

function podsByOrdinal({ pods }: SetSnapshot): Map<number, Pod> {
  return new Map(pods.map((pod) => [parentAndOrdinal(pod.metadata.name)?.ordinal ?? -1, pod]));
}

/** Pods beyond the number of replicas, last first. */
function condemnedPods({ set, pods }: SetSnapshot): { pod: Pod; ordinal: number }[] {
  const wanted = new Set(ordinalsOf(set));
  return pods
    .map((pod) => ({ pod, ordinal: parentAndOrdinal(pod.metadata.name)?.ordinal ?? -1 }))
    .filter(({ ordinal }) => ordinal >= 0 && !wanted.has(ordinal))
    .sort((a, b) => b.ordinal - a.ordinal);
}

function isParallel({ spec }: StatefulSet): boolean {
  return spec?.podManagementPolicy === 'Parallel';
}
