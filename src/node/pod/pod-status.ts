// A pod's status, derived from its volumes. Berth runs no containers: a pod whose volumes are all mounted is Running,
// and an annotation lists the mount paths. A Pending pod says what it waits for. Pure.

import type { Pod, PodCondition } from '../../api/kinds.ts';
import { ANN_PUBLISHED_VOLUMES } from '../../api/well-known.ts';

export interface PodVolumesState {
  ready: boolean;
  /** Volume name to the reason for waiting. */
  waits: ReadonlyMap<string, string>;
  /** Volume name to path. */
  published: ReadonlyMap<string, string>;
  /** Set when the pod is rejected by this node. */
  rejected?: PodRejection;
}

export interface PodRejection {
  reason: string;
  message: string;
}

const CONDITIONS = ['Initialized', 'ContainersReady', 'Ready', 'PodReadyToStartContainers'] as const;

/**
 * A strategic merge patch of the pod's status, or undefined without changes. Only for the version that it was decided on:
 * the pod may have ended since, and would run again.
 */
export function podStatusPatch(pod: Pod, volumes: PodVolumesState, nowMs: number): object | undefined {
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  if (volumes.rejected) return rejectionPatch(pod, volumes.rejected);
  // A pod that was Running stays so while a volume is mounted again or reconstructed after a restart.
  const runs = volumes.ready || pod.status?.phase === 'Running';
  const message = runs ? undefined : waitText(volumes.waits);
  const conditions: PodCondition[] = CONDITIONS.map((type) =>
    condition(pod, { type, isTrue: runs || type === 'Initialized', message, now }),
  );
  const startTime = pod.status?.startTime ?? now;
  const status = {
    phase: runs ? 'Running' : 'Pending',
    startTime,
    conditions,
    containerStatuses: (pod.spec.containers ?? []).map(({ name, image }) => ({
      name,
      image: image ?? '',
      imageID: '',
      ready: runs,
      started: runs,
      restartCount: 0,
      state: runs
        ? { running: { startedAt: startedAt(pod, name) ?? now } }
        : { waiting: { reason: 'ContainerCreating', ...(message && { message }) } },
    })),
  };
  const paths = Object.fromEntries([...volumes.published].sort(([a], [b]) => (a < b ? -1 : 1)));
  const before = pod.metadata.annotations?.[ANN_PUBLISHED_VOLUMES];
  const current = volumes.ready && Object.keys(paths).length > 0 ? JSON.stringify(paths) : undefined;
  // Meanwhile the annotation keeps the paths that it had.
  const annotation = runs && !volumes.ready ? before : current;
  const annotations = { [ANN_PUBLISHED_VOLUMES]: annotation ?? null };
  if (isSame(pod, status) && before === annotation) return undefined;
  // A strategic merge keeps fields of a condition that the patch omits, so old reasons and messages are set to null.
  const merged = conditions.map((each) => ({ reason: null, message: null, ...each }));
  return { metadata: { ...versionOf(pod), annotations }, status: { ...status, conditions: merged } };
}

/** As the kubelet does: no container statuses, since containers were never created. */
function rejectionPatch(pod: Pod, { reason, message }: PodRejection): object {
  return {
    metadata: { ...versionOf(pod), annotations: { [ANN_PUBLISHED_VOLUMES]: null } },
    status: { phase: 'Failed', reason, message, conditions: null, containerStatuses: null },
  };
}

/** For the metadata of a patch: it is applied to this version of this pod only. */
export function versionOf({ metadata: { uid, resourceVersion } }: Pod): {
  uid: string;
  resourceVersion: string;
} {
  return { uid, resourceVersion };
}

/** One clause per volume, sorted by name so that equal states give equal texts. */
export function waitText(waits: ReadonlyMap<string, string>): string {
  if (waits.size === 0) return 'waiting for volumes to be mounted';
  const parts = [...waits]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, why]) => `volume ${name}: ${why}`);
  return parts.join('; ').slice(0, 1000);
}

function condition(
  pod: Pod,
  wanted: { type: string; isTrue: boolean; message: string | undefined; now: string },
): PodCondition {
  const { type, isTrue, message, now } = wanted;
  const before = pod.status?.conditions?.find((each) => each.type === type);
  const status = isTrue ? 'True' : 'False';
  return {
    type,
    status,
    lastTransitionTime:
      before?.status === status && before.lastTransitionTime ? before.lastTransitionTime : now,
    ...(!isTrue && { reason: 'ContainersNotReady', message: message ?? '' }),
  };
}

function startedAt(pod: Pod, container: string): string | undefined {
  const before = pod.status?.containerStatuses?.find(({ name }) => name === container);
  return before?.state?.running?.startedAt;
}

interface ComparableStatus {
  phase?: string;
  conditions?: PodCondition[];
  containerStatuses?: { name: string; ready: boolean; state?: { waiting?: { message?: string } } }[];
}

function isSame(pod: Pod, next: ComparableStatus): boolean {
  const current: ComparableStatus = pod.status ?? {};
  if (current.phase !== next.phase) return false;
  const isThere = (wanted: PodCondition) =>
    current.conditions?.some(
      (each) =>
        each.type === wanted.type &&
        each.status === wanted.status &&
        (each.message ?? '') === (wanted.message ?? ''),
    );
  if (!(next.conditions ?? []).every(isThere)) return false;
  const containers = ({ containerStatuses = [] }: ComparableStatus) =>
    JSON.stringify(
      containerStatuses.map(({ name, ready, state }) => [name, ready, state?.waiting?.message ?? '']),
    );
  return containers(current) === containers(next);
}
