// StatefulSets: pods with a name, an order and claims of their own. Watches sets, pods and claims; creates and deletes
// the pods of a set, creates their claims and manages the claims' owners, adopts orphaned pods, writes the status. The
// garbage collector deletes what a deleted set leaves.
//
// There is no revision history: a member below the partition that has to be created again gets the current template.

import {
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  pods,
  type StatefulSet,
  statefulSets,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { labelSelectorOf, matchesLabels } from '../../api/selectors.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, failed, requeueAfter } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { decideSet, type SetStep } from './decide-set.ts';
import { createSetActions } from './set-actions.ts';
import { parentAndOrdinal } from './set-members.ts';
import { nextSetStatus } from './set-status.ts';

const WORKERS = 8;
const BACKOFF = { startMs: 100, maxMs: 60_000 };
/** While a watch is silent. Another member may become available meanwhile. */
const UNSEEN_BACKOFF = { startMs: 100, maxMs: 10_000 };
const BY_PARENT = 'statefulset/parent';

const createdUnseen = failed({
  why: 'the cache does not show yet what was created',
  quiet: true,
  backoff: UNSEEN_BACKOFF,
});

/** By name only: whether the set controls or adopts the pod is checked later. */
const parentKeys = ({ metadata }: Pod): string[] => {
  const found = parentAndOrdinal(metadata.name);
  return found ? [`${metadata.namespace}/${found.parent}`] : [];
};

export function createStatefulSetController(ports: ControllerPorts): Controller {
  const { kube, informers, recorder, clock } = ports;
  const log = ports.log.with({ controller: 'statefulset' });
  const sets = informers.of(statefulSets);
  const podCache = informers.of(pods);
  const claims = informers.of(persistentVolumeClaims);
  podCache.addIndex(BY_PARENT, parentKeys);
  const actions = createSetActions({ kube, recorder });
  // Pods change faster than the watch shows the set's own status.
  const latest = new ReadYourWrites(sets);

  const loop = createLoop({
    ...ports,
    log,
    name: 'statefulsets',
    workers: WORKERS,
    backoff: BACKOFF,
    async reconcile(key, { signal }) {
      const set = latest.get(key);
      if (!set) return done;
      const named = podCache.byIndex(BY_PARENT, key);
      const nowMs = clock.now();
      const adoptable = named.filter((pod) => isAdoptable(pod, set));
      if (adoptable.length > 0) {
        for (const pod of adoptable) await actions.adopt(set, pod, signal);
        // A change of these pods enqueues the set again.
        return done;
      }
      const members = named.filter((pod) => controllerOf(pod) === set.metadata.uid);
      const status = nextSetStatus(set, members, nowMs);
      if (status) {
        latest.wrote(await kube.update(statefulSets, { ...set, status }, { subresource: 'status', signal }));
      }
      let waitMs = 0;
      const claimNamed = (name: string) => claims.get(`${set.metadata.namespace}/${name}`);
      const steps = decideSet({ set, pods: members, claimNamed, nowMs });
      for (const step of steps) {
        if (step.do === 'wait') waitMs = waitMs === 0 ? step.ms : Math.min(waitMs, step.ms);
        else await actions.perform(set, step, signal);
      }
      // The caches may never show them, if they are deleted first: then their deletion is no event.
      if (steps.some(isUnseen)) return createdUnseen;
      return waitMs > 0 ? requeueAfter(waitMs, 'a pod is ready but not yet available') : done;
    },
  });

  function isUnseen(step: SetStep): boolean {
    if (step.do === 'create-pod') return podCache.get(keyOf(step.pod)) === undefined;
    return step.do === 'create-claim' && claims.get(keyOf(step.claim)) === undefined;
  }

  const podChanged = (pod: Pod): void => {
    for (const key of parentKeys(pod)) if (sets.get(key)) loop.add(key);
  };
  sets.subscribe({
    added: (set) => loop.add(keyOf(set)),
    updated: (_before, set) => loop.add(keyOf(set)),
  });
  podCache.subscribe({
    added: podChanged,
    updated: (_before, after) => podChanged(after),
    deleted: podChanged,
  });
  const claimChanged = ({ metadata }: PersistentVolumeClaim): void => {
    const member = parentAndOrdinal(metadata.name);
    if (!member) return;
    for (const set of sets.list()) {
      const { name, namespace } = set.metadata;
      if (namespace === metadata.namespace && member.parent.endsWith(`-${name}`)) loop.add(keyOf(set));
    }
  };
  // A member may wait until a claim of its predecessor is deleted, or has lost that owner. The owners of a claim are set
  // once the cache shows it.
  claims.subscribe({
    added: claimChanged,
    updated: (before, after) => {
      if (!isKeptTheSame(before, after)) claimChanged(after);
    },
    deleted: claimChanged,
  });

  return {
    name: 'statefulset-controller',
    async run(signal) {
      if (await cachesSynced([sets, podCache, claims], signal)) await loop.run(signal);
    },
  };
}

function isKeptTheSame(
  { metadata: before }: PersistentVolumeClaim,
  { metadata: after }: PersistentVolumeClaim,
) {
  return (
    before.deletionTimestamp === after.deletionTimestamp &&
    sameJson(before.ownerReferences, after.ownerReferences)
  );
}

function controllerOf(pod: Pod): string | undefined {
  return pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

function isAdoptable(pod: Pod, set: StatefulSet): boolean {
  if (controllerOf(pod) !== undefined || pod.metadata.deletionTimestamp) return false;
  if (set.metadata.deletionTimestamp || !set.spec) return false;
  return matchesLabels(labelSelectorOf(set.spec.selector), pod.metadata.labels ?? {});
}
