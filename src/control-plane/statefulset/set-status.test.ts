import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, StatefulSet } from '../../api/kinds.ts';
import { revisionOf } from './set-members.ts';
import { nextSetStatus } from './set-status.ts';

const NOW = Date.parse('2026-01-01T00:01:00Z');
const spec = { replicas: 2, selector: {}, serviceName: '', template: { spec: { containers: [] } } };

const set = (status?: StatefulSet['status'], change: object = {}) =>
  ({
    metadata: { name: 'web', generation: 3 },
    spec: { ...spec, ...change },
    ...(status && { status }),
  }) as unknown as StatefulSet;
const CURRENT = revisionOf(set());

function pod(change: { revision?: string; ready?: string; phase?: string; ending?: true } = {}): Pod {
  const { revision = CURRENT, ready = '2026-01-01T00:00:00Z', phase = 'Running', ending } = change;
  return {
    metadata: {
      labels: { 'controller-revision-hash': revision },
      ...(ending && { deletionTimestamp: '2026-01-01T00:00:30Z' }),
    },
    status: { phase, conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: ready }] },
  } as unknown as Pod;
}

const none = {
  observedGeneration: 3,
  replicas: 0,
  readyReplicas: 0,
  availableReplicas: 0,
  currentReplicas: 0,
  updatedReplicas: 0,
  currentRevision: CURRENT,
  updateRevision: CURRENT,
  collisionCount: 0,
};
const full = {
  ...none,
  replicas: 2,
  readyReplicas: 2,
  availableReplicas: 2,
  currentReplicas: 2,
  updatedReplicas: 2,
};
const old = 'web-earlier';

const table: { name: string; set: StatefulSet; pods: Pod[]; then: object | undefined }[] = [
  { name: 'a set without pods', set: set(), pods: [], then: none },
  { name: 'a set that has all', set: set(none), pods: [pod(), pod()], then: full },
  { name: 'a status that is right already', set: set(full), pods: [pod(), pod()], then: undefined },
  {
    name: 'a generation that was not observed yet',
    set: set({ ...full, observedGeneration: 2 }),
    pods: [pod(), pod()],
    then: full,
  },
  {
    name: 'fields of others are kept',
    set: set({ ...none, collisionCount: 4, conditions: [] } as never),
    pods: [pod(), pod()],
    then: { ...full, collisionCount: 4, conditions: [] },
  },
  {
    name: 'a pod that is ending counts as a replica, not towards its revision',
    set: set(full),
    pods: [pod(), pod({ ending: true })],
    then: { ...full, currentReplicas: 1, updatedReplicas: 1 },
  },
  {
    name: 'a pod that does not run is not ready',
    set: set(full),
    pods: [pod(), pod({ phase: 'Pending' })],
    then: { ...full, readyReplicas: 1, availableReplicas: 1 },
  },
  {
    name: 'ready for less than minReadySeconds: not available',
    set: set(full, { minReadySeconds: 10 }),
    pods: [pod(), pod({ ready: '2026-01-01T00:00:55Z' })],
    then: { ...full, availableReplicas: 1 },
  },
  {
    name: 'while an older pod is left, its revision is the current one',
    set: set({ ...full, currentRevision: old }),
    pods: [pod(), pod({ revision: old })],
    then: { ...full, currentRevision: old, currentReplicas: 1, updatedReplicas: 1 },
  },
  {
    name: 'also when the set has as many of the new one as it should',
    set: set({ ...full, currentRevision: old }),
    pods: [pod(), pod(), pod({ revision: old })],
    then: {
      ...full,
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      currentRevision: old,
      currentReplicas: 1,
    },
  },
  {
    name: 'and while pods are missing',
    set: set({ ...full, currentRevision: old }),
    pods: [pod()],
    then: {
      ...full,
      replicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
      currentRevision: old,
      currentReplicas: 0,
      updatedReplicas: 1,
    },
  },
  {
    name: 'after the last older pod the new revision is the current one',
    set: set({ ...full, currentRevision: old }),
    pods: [pod(), pod()],
    then: full,
  },
];
for (const { name, set: given, pods, then } of table) {
  test(name, () => assert.deepEqual(nextSetStatus(given, pods, NOW), then));
}
