// The status of a StatefulSet, computed from its pods. Pure.

import type { Pod, StatefulSet } from '../../api/kinds.ts';
import { availableInMs, isReady } from './pod-availability.ts';
import { LABEL_REVISION, ordinalsOf, revisionOf } from './set-members.ts';

type Status = NonNullable<StatefulSet['status']>;

/** The new status; undefined when it is unchanged. */
export function nextSetStatus(set: StatefulSet, pods: readonly Pod[], nowMs: number): Status | undefined {
  const before = set.status;
  const updateRevision = revisionOf(set);
  const staying = pods.filter(({ metadata }) => !metadata.deletionTimestamp);
  const count = (revision: string | undefined) =>
    staying.filter(({ metadata }) => metadata.labels?.[LABEL_REVISION] === revision).length;
  const ready = pods.filter(isReady);
  const available = ready.filter((pod) => availableInMs(pod, set.spec?.minReadySeconds ?? 0, nowMs) === 0);
  const updatedReplicas = count(updateRevision);
  // The earlier revision counts as current until no pod of it is left.
  const isUpdated = updatedReplicas === ordinalsOf(set).length && staying.length === updatedReplicas;
  const currentRevision = isUpdated ? updateRevision : (before?.currentRevision ?? updateRevision);
  const next: Status = {
    ...before,
    ...(set.metadata.generation !== undefined && { observedGeneration: set.metadata.generation }),
    replicas: pods.length,
    readyReplicas: ready.length,
    availableReplicas: available.length,
    currentReplicas: count(currentRevision),
    updatedReplicas,
    currentRevision,
    updateRevision,
    collisionCount: before?.collisionCount ?? 0,
  };
  const fields = Object.keys(next) as (keyof Status)[];
  return fields.every((field) => before?.[field] === next[field]) ? undefined : next;
}
