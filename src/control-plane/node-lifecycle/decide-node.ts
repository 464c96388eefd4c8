// Conditions and taints of a node, from the time since its last heartbeat and its last status. Pure.

import type { Node, Pod, Taint, Toleration } from '../../api/kinds.ts';

export const TAINT_UNREACHABLE = 'node.kubernetes.io/unreachable';
export const TAINT_NOT_READY = 'node.kubernetes.io/not-ready';

/** Conditions that the kubelet reports, and that are Unknown while it does not. */
const CONDITIONS = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

/** Kubernetes' default for pods without a toleration of their own for this taint. */
const DEFAULT_TOLERATION_SECONDS = 300;

export interface NodeSnapshot {
  node: Node;
  /** It has neither renewed its lease nor posted a status for longer than the grace period. */
  isSilent: boolean;
  nowIso: string;
}

/**
 * The node's status with its conditions Unknown; undefined when they are so already, or the heartbeats have not
 * stopped.
 */
export function silencedStatus({ node, isSilent, nowIso }: NodeSnapshot): Node['status'] | undefined {
  if (!isSilent) return undefined;
  const current = node.status?.conditions ?? [];
  const ready = current.find(({ type }) => type === 'Ready');
  if (ready?.status === 'Unknown') return undefined;
  const others = current.filter(({ type }) => !CONDITIONS.some((each) => each === type));
  const unknown = CONDITIONS.flatMap((type) => {
    const before = current.find((condition) => condition.type === type);
    // For a node that never posted a status only Ready is added.
    if (!before && type !== 'Ready') return [];
    return [
      {
        ...before,
        type,
        status: 'Unknown',
        reason: before ? 'NodeStatusUnknown' : 'NodeStatusNeverUpdated',
        message: before ? 'Kubelet stopped posting node status.' : 'Kubelet never posted node status.',
        lastTransitionTime: nowIso,
      },
    ];
  });
  return { ...node.status, conditions: [...unknown, ...others] };
}

/** The node's taints that follow from its Ready condition; undefined when they are right. Other taints stay. */
export function wantedTaints({ node, nowIso }: Pick<NodeSnapshot, 'node' | 'nowIso'>): Taint[] | undefined {
  const status = node.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const key = status === 'Unknown' ? TAINT_UNREACHABLE : status === 'False' ? TAINT_NOT_READY : undefined;
  const current = node.spec?.taints ?? [];
  const ours = (taint: Taint): boolean => taint.key === TAINT_UNREACHABLE || taint.key === TAINT_NOT_READY;
  const effects = key === undefined ? [] : ['NoSchedule', 'NoExecute'];
  const kept = current.filter(
    (taint) => !ours(taint) || (taint.key === key && effects.includes(taint.effect)),
  );
  const missing = effects
    .filter((effect) => !kept.some((taint) => taint.key === key && taint.effect === effect))
    .map(
      (effect): Taint => ({ key: key ?? '', effect, ...(effect === 'NoExecute' && { timeAdded: nowIso }) }),
    );
  if (missing.length === 0 && kept.length === current.length) return undefined;
  return [...kept, ...missing];
}

/** When a pod must be evicted from the node, in wall-clock milliseconds; undefined when it may stay. */
export function evictionTimeMs(pod: Pod, node: Node): number | undefined {
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  const times = taints.flatMap((taint) => {
    const fits = (pod.spec.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
    if (fits.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return [];
    const implied =
      taint.key === TAINT_UNREACHABLE || taint.key === TAINT_NOT_READY ? DEFAULT_TOLERATION_SECONDS : 0;
    const seconds = fits.length > 0 ? Math.min(...fits.map((each) => each.tolerationSeconds ?? 0)) : implied;
    return [Date.parse(taint.timeAdded ?? node.metadata.creationTimestamp) + seconds * 1000];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (!toleration.key) return toleration.operator === 'Exists';
  if (toleration.key !== taint.key) return false;
  return toleration.operator === 'Exists' || (toleration.value ?? '') === (taint.value ?? '');
}
