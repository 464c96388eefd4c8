// Deployments, ReplicaSets, DaemonSets and StatefulSets: selector, template, replicas. Also ControllerRevisions.

import { getOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import { labelSelectorOf, matchesLabels, SelectorError } from '../../api/selectors.ts';
import type { FieldError, Subresource } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf } from '../kinds/loose.ts';
import { at, Checks, forbidden, invalid, required } from './checks.ts';
import { checkClaimSpec } from './claim.ts';
import { checkLabelSelector } from './node-selector.ts';
import { checkPodSpec } from './pod.ts';
import { checkDaemonSetStrategy, checkDeploymentStrategy } from './rollout.ts';

const TEMPLATE_LABELS = 'spec.template.metadata.labels';
const MISMATCH = '`selector` does not match template `labels`';

export function validateWorkload(workload: Loose): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(workload.spec) ?? {};
  const template = mapOf(spec.template) ?? {};
  const selector = mapOf(spec.selector);
  checks.nonNegative('spec.replicas', spec.replicas);
  const labels = mapOf(mapOf(template.metadata)?.labels);
  if (!selector) {
    if (workload.kind !== 'DaemonSet') checks.add(required('spec.selector'));
    checks.add(invalid(TEMPLATE_LABELS, labels, MISMATCH));
  } else {
    checkLabelSelector(checks, 'spec.selector', selector);
    if (Object.keys(selector).length === 0) {
      checks.add(
        invalid('spec.selector', selector, `empty selector is invalid for ${workload.kind.toLowerCase()}`),
      );
    } else if (!selects(selector, labels)) checks.add(invalid(TEMPLATE_LABELS, labels ?? {}, MISMATCH));
  }
  const podSpec = mapOf(template.spec) ?? {};
  checkPodSpec(checks, 'spec.template.spec', withClaimVolumes(podSpec, spec.volumeClaimTemplates));
  if (podSpec.restartPolicy !== undefined && podSpec.restartPolicy !== 'Always') {
    checks.oneOf('spec.template.spec.restartPolicy', podSpec.restartPolicy, ['Always']);
  }
  checks.nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  checks.nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
  if (podSpec.activeDeadlineSeconds !== undefined) {
    // kube-apiserver's word for the pods of a Deployment.
    const owner = workload.kind === 'Deployment' ? 'ReplicaSet' : workload.kind;
    const detail = `activeDeadlineSeconds in ${owner} is not Supported`;
    checks.add(forbidden('spec.template.spec.activeDeadlineSeconds', detail));
  }
  if (workload.kind === 'StatefulSet') checkStatefulSet(checks, spec);
  if (workload.kind === 'DaemonSet') checkDaemonSetStrategy(checks, spec);
  if (workload.kind === 'Deployment') {
    checkDeploymentStrategy(checks, spec);
    checkProgress(checks, spec);
  }
  for (const [index, claim] of mapsOf(spec.volumeClaimTemplates).entries()) {
    checkClaimSpec(checks, `${at('spec.volumeClaimTemplates', index)}.spec`, mapOf(claim.spec) ?? {});
  }
  return checks.errors;
}

function checkProgress(checks: Checks, { progressDeadlineSeconds, minReadySeconds }: LooseMap): void {
  if (typeof progressDeadlineSeconds !== 'number') return;
  const field = 'spec.progressDeadlineSeconds';
  checks.nonNegative(field, progressDeadlineSeconds);
  if (progressDeadlineSeconds <= Number(minReadySeconds ?? 0)) {
    checks.add(invalid(field, progressDeadlineSeconds, 'must be greater than minReadySeconds'));
  }
}

const MANAGEMENT = new Set(['OrderedReady', 'Parallel']);

function checkStatefulSet(checks: Checks, spec: LooseMap): void {
  const { podManagementPolicy } = spec;
  if (podManagementPolicy !== undefined && !MANAGEMENT.has(String(podManagementPolicy))) {
    checks.add(
      invalid('spec.podManagementPolicy', podManagementPolicy, "must be 'OrderedReady' or 'Parallel'"),
    );
  }
  const strategy = mapOf(spec.updateStrategy) ?? {};
  const rolling = mapOf(strategy.rollingUpdate);
  if (strategy.type === 'OnDelete') {
    const field = 'spec.updateStrategy.rollingUpdate';
    if (rolling) checks.add(invalid(field, rolling, "only allowed for updateStrategy 'RollingUpdate'"));
  } else if (strategy.type !== undefined && strategy.type !== 'RollingUpdate') {
    checks.add(invalid('spec.updateStrategy', strategy, "must be 'RollingUpdate' or 'OnDelete'"));
  }
  checks.nonNegative('spec.updateStrategy.rollingUpdate.partition', rolling?.partition);
  for (const [when, what] of Object.entries(mapOf(spec.persistentVolumeClaimRetentionPolicy) ?? {})) {
    checks.oneOf(`spec.persistentVolumeClaimRetentionPolicy.${when}`, what, ['Delete', 'Retain']);
  }
}

/** The claims of a StatefulSet are volumes of its pods, though the template does not list them. */
function withClaimVolumes(podSpec: Record<string, unknown>, templates: unknown): Record<string, unknown> {
  const listed = mapsOf(podSpec.volumes);
  const claims = mapsOf(templates)
    .map((template) => mapOf(template.metadata)?.name)
    .filter((name) => !listed.some((volume) => volume.name === name))
    .map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  return claims.length === 0 ? podSpec : { ...podSpec, volumes: [...listed, ...claims] };
}

function selects(selector: object, labels: unknown): boolean {
  try {
    return matchesLabels(labelSelectorOf(selector), labels as Record<string, string> | undefined);
  } catch (error) {
    // A malformed selector has been reported already.
    if (error instanceof SelectorError) return true;
    throw error;
  }
}

export function validateWorkloadUpdate(next: Loose, current: Loose, subresource: Subresource): FieldError[] {
  const checks = new Checks();
  if (subresource === 'status') checkStatus(checks, next, current);
  else checks.immutable('spec.selector', next.spec?.selector, current.spec?.selector);
  return checks.errors;
}

/** Counts that cannot exceed another one. */
const BOUNDS: Readonly<Record<string, readonly [field: string, bound: string][]>> = {
  Deployment: [
    ['updatedReplicas', 'replicas'],
    ['readyReplicas', 'replicas'],
    ['availableReplicas', 'replicas'],
    ['availableReplicas', 'readyReplicas'],
  ],
  ReplicaSet: [
    ['fullyLabeledReplicas', 'replicas'],
    ['readyReplicas', 'replicas'],
    ['availableReplicas', 'replicas'],
    ['availableReplicas', 'readyReplicas'],
  ],
  StatefulSet: [
    ['readyReplicas', 'replicas'],
    ['currentReplicas', 'replicas'],
    ['updatedReplicas', 'replicas'],
    ['availableReplicas', 'replicas'],
    ['availableReplicas', 'readyReplicas'],
  ],
};

function checkStatus(checks: Checks, next: Loose, current: Loose): void {
  const [status, before] = [mapOf(next.status) ?? {}, mapOf(current.status) ?? {}];
  for (const [field, value] of Object.entries(status)) {
    if (typeof value === 'number') checks.nonNegative(`status.${field}`, value);
  }
  const numberAt = (field: string): number => Number(getOwn(status, field) ?? 0);
  for (const [field, bound] of getOwn(BOUNDS, next.kind) ?? []) {
    if (numberAt(field) > numberAt(bound)) {
      const name = bound === 'replicas' ? 'status.replicas' : bound;
      checks.add(invalid(`status.${field}`, numberAt(field), `cannot be greater than ${name}`));
    }
  }
  if (Number(before.collisionCount ?? 0) > Number(status.collisionCount ?? 0)) {
    checks.add(invalid('status.collisionCount', status.collisionCount ?? 0, 'cannot be decremented'));
  }
}

const STATEFUL_CHANGES =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

export function validateStatefulSetUpdate(
  next: Loose,
  current: Loose,
  subresource: Subresource,
): FieldError[] {
  const checks = new Checks();
  const fixed = ({
    serviceName,
    selector,
    volumeClaimTemplates,
    podManagementPolicy,
  }: Record<string, unknown>) => ({
    serviceName: serviceName ?? '',
    selector,
    podManagementPolicy,
    claims: mapsOf(volumeClaimTemplates).map(({ metadata, spec }) => [mapOf(metadata)?.name, spec]),
  });
  if (
    subresource !== 'status' &&
    !sameJson(fixed(mapOf(next.spec) ?? {}), fixed(mapOf(current.spec) ?? {}))
  ) {
    checks.add(forbidden('spec', STATEFUL_CHANGES));
  }
  if (subresource === 'status') checkStatus(checks, next, current);
  return checks.errors;
}

export function validateControllerRevision(revision: Loose): FieldError[] {
  const checks = new Checks();
  checks.nonNegative('revision', revision.revision);
  const { data } = revision;
  if (data === undefined || data === null) checks.add(required('data', 'data is mandatory'));
  else if (mapOf(data) === undefined) checks.add(required('data', 'data must be a valid JSON object'));
  return checks.errors;
}

export function validateControllerRevisionUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checks.immutable('data', next.data, current.data);
  return checks.errors;
}
