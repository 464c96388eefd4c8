// Access control kinds: RBAC objects, PodSecurityPolicy, and the reviews, which are answered and never stored.

import type { Kind } from '../kind.ts';
import {
  bindingColumns,
  podSecurityPolicyColumns,
  reviewColumns,
  roleColumns,
} from '../printing/other-columns.ts';
import { validatePodSecurityPolicy } from '../validation/pod-security-policy.ts';
import {
  validateBinding,
  validateBindingUpdate,
  validateClusterRole,
  validateRole,
} from '../validation/rbac.ts';
import { defineKind, type KindDefinition } from './define-kind.ts';
import { ensureMap, type Loose, mapOf, mapsOf, setDefault } from './loose.ts';

const RBAC = 'rbac.authorization.k8s.io';
const rbac = { group: RBAC, version: 'v1', module: 'rbac/v1' };

function bindingDefaults(binding: Loose): void {
  const role = mapOf(binding.roleRef);
  if (role && !role.apiGroup) role.apiGroup = RBAC;
  for (const subject of mapsOf(binding.subjects)) {
    if (subject.kind === 'User' || subject.kind === 'Group') setDefault(subject, 'apiGroup', RBAC);
  }
}

function binding(kind: string, plural: string, namespaced: boolean): Kind {
  return defineKind({
    ...rbac,
    kind,
    plural,
    namespaced,
    columns: bindingColumns,
    setDefaults: bindingDefaults,
    validate: validateBinding,
    validateUpdate: validateBindingUpdate,
  });
}

const roleKinds: readonly Kind[] = [
  binding('ClusterRoleBinding', 'clusterrolebindings', false),
  defineKind({
    ...rbac,
    kind: 'ClusterRole',
    plural: 'clusterroles',
    namespaced: false,
    columns: roleColumns,
    validate: validateClusterRole,
  }),
  binding('RoleBinding', 'rolebindings', true),
  defineKind({
    ...rbac,
    kind: 'Role',
    plural: 'roles',
    namespaced: true,
    columns: roleColumns,
    validate: validateRole,
  }),
];

const podSecurityPolicyKind = defineKind({
  group: 'policy',
  version: 'v1beta1',
  module: 'policy/v1beta1',
  kind: 'PodSecurityPolicy',
  plural: 'podsecuritypolicies',
  namespaced: false,
  shortNames: ['psp'],
  columns: podSecurityPolicyColumns,
  setDefaults(policy) {
    setDefault(ensureMap(policy, 'spec'), 'allowPrivilegeEscalation', true);
  },
  validate: validatePodSecurityPolicy,
});

function review(group: string, kind: string, plural: string, options: Partial<KindDefinition> = {}): Kind {
  return defineKind({
    group: `${group}.k8s.io`,
    version: 'v1',
    module: `${group}/v1`,
    kind,
    plural,
    namespaced: false,
    verbs: ['create'],
    virtual: true,
    columns: reviewColumns,
    ...options,
  });
}

const reviewKinds: readonly Kind[] = [
  review('authentication', 'SelfSubjectReview', 'selfsubjectreviews'),
  review('authentication', 'TokenReview', 'tokenreviews'),
  review('authorization', 'LocalSubjectAccessReview', 'localsubjectaccessreviews', { namespaced: true }),
  review('authorization', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews'),
  review('authorization', 'SelfSubjectRulesReview', 'selfsubjectrulesreviews'),
  review('authorization', 'SubjectAccessReview', 'subjectaccessreviews'),
];

export const accessKinds: readonly Kind[] = [...reviewKinds, podSecurityPolicyKind, ...roleKinds];
