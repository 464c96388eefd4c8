// Whether a pod fits a node, apart from its volumes. Pure; each check returns its reasons, none when the pod fits.

import type { Node, NodeSelectorTerm, Pod, Taint, Toleration } from '../../api/kinds.ts';
import { matchesNodeSelectorTerms } from '../../api/selectors.ts';
import type { NodeInfo } from './node-info.ts';
import { insufficient, REASONS } from './reasons.ts';
import { type Amounts, podRequests } from './resources.ts';

/** A pod's requirements on nodes, read once for all nodes. */
export interface PodDemand {
  requests: Amounts;
  tolerations: readonly Toleration[];
  selectors: readonly (readonly NodeSelectorTerm[])[];
  hostPorts: readonly string[];
}

export function podDemand(pod: Pod): PodDemand {
  const { nodeSelector = {}, affinity, tolerations = [] } = pod.spec;
  const wanted = Object.entries(nodeSelector);
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return {
    requests: podRequests(pod),
    tolerations,
    selectors: [
      ...(wanted.length > 0
        ? [[{ matchExpressions: wanted.map(([key, value]) => ({ key, operator: 'In', values: [value] })) }]]
        : []),
      ...(required ? [required] : []),
    ],
    hostPorts: hostPortsOf(pod),
  };
}

/** A requirement of the pod that this scheduler does not support. The pod is rejected rather than placed wrongly. */
export function unsupported(pod: Pod): string | undefined {
  const { affinity, topologySpreadConstraints = [] } = pod.spec;
  const isRequired = (terms: { requiredDuringSchedulingIgnoredDuringExecution?: unknown[] } | undefined) =>
    (terms?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0;
  if (isRequired(affinity?.podAffinity)) return 'required podAffinity';
  if (isRequired(affinity?.podAntiAffinity)) return 'required podAntiAffinity';
  if (topologySpreadConstraints.some(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule')) {
    return 'topologySpreadConstraints with whenUnsatisfiable: DoNotSchedule';
  }
  if (((pod.spec as { resourceClaims?: unknown[] }).resourceClaims ?? []).length > 0) return 'resourceClaims';
  return undefined;
}

const NO_REASONS: readonly string[] = [];

export function checkNode(demand: PodDemand, info: NodeInfo): readonly string[] {
  const { node } = info;
  if (!node) return [REASONS.notReady];
  if (node.spec?.unschedulable && !toleratesCordon(demand)) return [REASONS.unschedulable];
  if (!isReady(node) && !toleratesNotReady(demand)) return [REASONS.notReady];
  if (untolerated(node.spec?.taints ?? [], demand.tolerations)) return [REASONS.taint];
  if (!demand.selectors.every((terms) => matchesNodeSelectorTerms(terms, node)))
    return [REASONS.nodeAffinity];
  if (demand.hostPorts.length > 0 && hasPortConflict(demand, info)) return [REASONS.ports];
  return checkResources(demand, info);
}

function checkResources(
  { requests }: PodDemand,
  { allocatable, requested, pods }: NodeInfo,
): readonly string[] {
  if (!allocatable) return NO_REASONS;
  const reasons: string[] = [];
  const mostPods = allocatable.get('pods');
  if (mostPods !== undefined && (pods.size + 1) * 1000 > mostPods) reasons.push(REASONS.tooManyPods);
  for (const [name, amount] of requests) {
    if (amount > 0 && amount + (requested.get(name) ?? 0) > (allocatable.get(name) ?? 0)) {
      reasons.push(insufficient(name));
    }
  }
  return reasons;
}

/** A node without a Ready condition counts as ready: it may have no kubelet. */
function isReady(node: Node): boolean {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True';
}

const CORDON: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const toleratesCordon = ({ tolerations }: PodDemand) => tolerations.some((each) => tolerates(each, CORDON));
const toleratesNotReady = ({ tolerations }: PodDemand) =>
  tolerations.some((each) => tolerates(each, NOT_READY));

function untolerated(taints: readonly Taint[], tolerations: readonly Toleration[]): boolean {
  return taints.some(
    (taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((each) => tolerates(each, taint)),
  );
}

export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return Boolean(key) && (value ?? '') === (taint.value ?? '');
}

function hostPortsOf(pod: Pod): string[] {
  return (pod.spec.containers ?? []).flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, hostIP, protocol }) =>
      hostPort ? [`${hostIP || '0.0.0.0'} ${protocol ?? 'TCP'} ${hostPort}`] : [],
    ),
  );
}

function hasPortConflict({ hostPorts }: PodDemand, { pods }: NodeInfo): boolean {
  for (const pod of pods.values()) {
    const taken = hostPortsOf(pod);
    if (hostPorts.some((wanted) => taken.some((other) => portsClash(wanted, other)))) return true;
  }
  return false;
}

function portsClash(a: string, b: string): boolean {
  const [addressA = '', ...restA] = a.split(' ');
  const [addressB = '', ...restB] = b.split(' ');
  const isAny = addressA === '0.0.0.0' || addressB === '0.0.0.0';
  return restA.join(' ') === restB.join(' ') && (isAny || addressA === addressB);
}
