// Shorthand for RBAC objects in the tables of default roles.

import type { ClusterRole, ClusterRoleBinding } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import type { PolicyRule } from '../authorization/policy-rules.ts';

export const READ = ['get', 'list', 'watch'];
export const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'];
export const READ_UPDATE = [...READ, 'update', 'patch'];

export const CORE = '';
export const STORAGE = 'storage.k8s.io';
export const CSI = 'csi.storage.k8s.io';
export const SNAPSHOT = 'snapshot.storage.k8s.io';
export const RBAC = 'rbac.authorization.k8s.io';
export const COORDINATION = 'coordination.k8s.io';

const BOOTSTRAPPED = {
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
  annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
};

export function rule(
  apiGroups: string | string[],
  resources: string[],
  verbs: string[],
  resourceNames?: string[],
): PolicyRule {
  return { apiGroups: [apiGroups].flat(), resources, verbs, ...(resourceNames ? { resourceNames } : {}) };
}

export const paths = (...nonResourceURLs: string[]): PolicyRule => ({ nonResourceURLs, verbs: ['get'] });

export const EVENTS: PolicyRule = rule([CORE, 'events.k8s.io'], ['events'], ['create', 'update', 'patch']);

export function clusterRole(
  name: string,
  rules: PolicyRule[],
  options: { labels?: Record<string, string>; aggregates?: string } = {},
): Draft<ClusterRole> {
  const { labels, aggregates } = options;
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name, labels: { ...BOOTSTRAPPED.labels, ...labels }, annotations: BOOTSTRAPPED.annotations },
    ...(aggregates
      ? { aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateTo(aggregates) }] } }
      : {}),
    rules,
  };
}

export const aggregateTo = (role: string): Record<string, string> => ({
  [`${RBAC}/aggregate-to-${role}`]: 'true',
});

export interface Subject {
  kind: 'User' | 'Group' | 'ServiceAccount';
  name: string;
  namespace?: string;
}
export const users = (...names: string[]): Subject[] => names.map((name) => ({ kind: 'User', name }));
export const groups = (...names: string[]): Subject[] => names.map((name) => ({ kind: 'Group', name }));
export const account = (namespace: string, name: string): Subject[] => [
  { kind: 'ServiceAccount', name, namespace },
];

const subjectsOf = (subjects: Subject[]) =>
  subjects.map((subject) => ({
    ...subject,
    ...(subject.kind === 'ServiceAccount' ? {} : { apiGroup: RBAC }),
  }));

export function clusterRoleBinding(
  name: string,
  role: string,
  subjects: Subject[],
): Draft<ClusterRoleBinding> {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name, ...BOOTSTRAPPED },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
    subjects: subjectsOf(subjects),
  };
}
