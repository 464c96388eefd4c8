// Roles and bindings.

import { dns1123SubdomainProblems, pathSegmentProblems } from '../../api/names.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, invalid, notSupported, required } from './checks.ts';
import { checkLabelSelector } from './node-selector.ts';

const RBAC = 'rbac.authorization.k8s.io';

export function validateRole(role: Loose): FieldError[] {
  const checks = new Checks();
  for (const [index, rule] of mapsOf(role.rules).entries()) checkRule(checks, at('rules', index), rule, true);
  return checks.errors;
}

export function validateClusterRole(role: Loose): FieldError[] {
  const checks = new Checks();
  for (const [index, rule] of mapsOf(role.rules).entries())
    checkRule(checks, at('rules', index), rule, false);
  const aggregation = mapOf(role.aggregationRule);
  if (aggregation) {
    const selectors = mapsOf(aggregation.clusterRoleSelectors);
    checks.required(
      'aggregationRule.clusterRoleSelectors',
      selectors,
      'at least one clusterRoleSelector required if aggregationRule is non-nil',
    );
    for (const [index, selector] of selectors.entries()) {
      checkLabelSelector(checks, at('aggregationRule.clusterRoleSelectors', index), selector);
    }
  }
  return checks.errors;
}

function checkRule(checks: Checks, path: string, rule: LooseMap, namespaced: boolean): void {
  checks.required(`${path}.verbs`, stringsOf(rule.verbs), 'verbs must contain at least one value');
  const urls = stringsOf(rule.nonResourceURLs);
  if (urls.length > 0) {
    if (namespaced)
      checks.add(
        invalid(`${path}.nonResourceURLs`, urls, 'namespaced rules cannot apply to non-resource URLs'),
      );
    if (
      stringsOf(rule.apiGroups).length +
        stringsOf(rule.resources).length +
        stringsOf(rule.resourceNames).length >
      0
    ) {
      checks.add(
        invalid(
          `${path}.nonResourceURLs`,
          urls,
          'rules cannot apply to both regular resources and non-resource URLs',
        ),
      );
    }
    return;
  }
  checks.required(
    `${path}.apiGroups`,
    stringsOf(rule.apiGroups),
    'resource rules must supply at least one api group',
  );
  checks.required(
    `${path}.resources`,
    stringsOf(rule.resources),
    'resource rules must supply at least one resource',
  );
}

export function validateBinding(binding: Loose): FieldError[] {
  const checks = new Checks();
  const namespaced = binding.kind === 'RoleBinding';
  const role = mapOf(binding.roleRef) ?? {};
  if (role.apiGroup !== RBAC) checks.add(notSupported('roleRef.apiGroup', role.apiGroup ?? '', [RBAC]));
  checks.oneOf('roleRef.kind', role.kind ?? '', namespaced ? ['ClusterRole', 'Role'] : ['ClusterRole']);
  if (checks.required('roleRef.name', role.name)) checks.text('roleRef.name', role.name, pathSegmentProblems);
  for (const [index, subject] of mapsOf(binding.subjects).entries()) {
    checkSubject(checks, at('subjects', index), subject, namespaced);
  }
  return checks.errors;
}

function checkSubject(checks: Checks, path: string, subject: LooseMap, namespaced: boolean): void {
  checks.required(`${path}.name`, subject.name);
  if (subject.kind === 'ServiceAccount') {
    if (subject.name) checks.text(`${path}.name`, subject.name, dns1123SubdomainProblems);
    if (subject.apiGroup) checks.add(notSupported(`${path}.apiGroup`, subject.apiGroup, ['']));
    if (!namespaced && !subject.namespace) checks.add(required(`${path}.namespace`));
  } else if (subject.kind === 'User' || subject.kind === 'Group') {
    if (subject.apiGroup !== RBAC)
      checks.add(notSupported(`${path}.apiGroup`, subject.apiGroup ?? '', [RBAC]));
  } else {
    checks.add(notSupported(`${path}.kind`, subject.kind ?? '', ['ServiceAccount', 'User', 'Group']));
  }
}

export function validateBindingUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  const parts = (binding: Loose): unknown[] => {
    const { apiGroup, kind, name } = mapOf(binding.roleRef) ?? {};
    return [apiGroup, kind, name];
  };
  if (JSON.stringify(parts(next)) !== JSON.stringify(parts(current))) {
    checks.add(invalid('roleRef', next.roleRef, 'cannot change roleRef'));
  }
  return checks.errors;
}
