// Privilege escalation check: a role's new rules, and the role of a binding, must be covered by the writer's own rules.
// The verbs `escalate` and `bind` exempt from it.

import type { ClusterRole, ClusterRoleBinding } from '../../api/kinds.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../api/kinds.ts';
import { sameJson } from '../../api/same-json.ts';
import type { ClusterAuthorizer } from '../authorization/authorizer.ts';
import { type PolicyRule, showRule, uncoveredRules } from '../authorization/policy-rules.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../pipeline.ts';
import { notFound } from '../verbs/status.ts';
import { isAbout, refuse } from './refuse.ts';

const GROUP = 'rbac.authorization.k8s.io';
const EVERYTHING: PolicyRule[] = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
];

export function rbacEscalation({ authorizer }: { authorizer: ClusterAuthorizer }): AdmissionPlugin {
  const has = (request: AdmissionRequest, verb: string, plural: string, name: string): boolean => {
    const { user, namespace } = request;
    const about = { user, verb, group: GROUP, version: 'v1', plural, name };
    const { decision } = authorizer.authorize(namespace ? { ...about, namespace } : about);
    return decision === 'allow';
  };
  const demandCoverage = (request: AdmissionRequest, wanted: readonly PolicyRule[]): void => {
    const owned = authorizer.rulesFor(request.user, request.namespace);
    const missing = uncoveredRules(owned, wanted);
    if (missing.length === 0) return;
    refuse(
      request,
      `user "${request.user.name}" (groups=${JSON.stringify(request.user.groups)}) is attempting to grant RBAC permissions not currently held:\n${missing.map(showRule).join('\n')}`,
    );
  };

  function checkRole(request: AdmissionRequest): void {
    const next = request.object as ClusterRole;
    const current = request.oldObject as ClusterRole | undefined;
    const unchanged =
      current &&
      sameJson(next.rules ?? [], current.rules ?? []) &&
      sameJson(next.aggregationRule, current.aggregationRule);
    if (unchanged || has(request, 'escalate', request.kind.plural, request.name)) return;
    demandCoverage(request, next.rules ?? []);
    // What will be aggregated is unknown now: only users with all rights may write such a role.
    const aggregates = next.aggregationRule && !sameJson(next.aggregationRule, current?.aggregationRule);
    if (aggregates) demandCoverage(request, EVERYTHING);
  }

  function checkBinding(request: AdmissionRequest): void {
    const next = request.object as ClusterRoleBinding;
    const current = request.oldObject as ClusterRoleBinding | undefined;
    if (current && sameJson(next.subjects ?? [], current.subjects ?? [])) return;
    const { kind, name } = next.roleRef;
    const plural = kind === 'Role' ? 'roles' : 'clusterroles';
    if (has(request, 'bind', plural, name)) return;
    const rules = authorizer.rulesOfRole({ kind, name }, request.namespace);
    // A role created later would grant its rights through this binding.
    if (rules === undefined) throw notFound({ group: GROUP, plural }, name);
    demandCoverage(request, rules);
  }

  return {
    name: 'RBACEscalation',
    validate(request) {
      if (request.operation === 'delete' || request.subresource !== '' || !request.object) return;
      if (isAbout(request, roles) || isAbout(request, clusterRoles)) checkRole(request);
      if (isAbout(request, roleBindings) || isAbout(request, clusterRoleBindings)) checkBinding(request);
    },
  };
}
