import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateBinding, validateBindingUpdate, validateClusterRole, validateRole } from './rbac.ts';
import { type Body, changedFields, rows } from './testing/rows.ts';

const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const urls = { verbs: ['get'], nonResourceURLs: ['/healthz'] };
const rules = (...given: Body[]) => ({ rules: given });

rows(validateRole, {}, [
  ['a good role', rules(rule), []],
  ['a role without rules', {}, []],
  [
    'a rule for nothing',
    rules({}),
    ['rules[0].verbs: Req', 'rules[0].apiGroups: Req', 'rules[0].resources: Req'],
  ],
  [
    'a role for URLs',
    rules(urls),
    ['rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot'],
  ],
]);
rows(validateClusterRole, {}, [
  ['a good cluster role', rules(rule, urls), []],
  [
    'a rule for URLs and resources',
    rules({ ...urls, apiGroups: [''] }, { ...urls, resources: ['pods'] }, { ...urls, resourceNames: ['p'] }),
    [0, 1, 2].map(
      (index) => `rules[${index}].nonResourceURLs: Invalid value: ["/healthz"]: rules cannot apply to both`,
    ),
  ],
  [
    'an aggregation of nothing',
    { aggregationRule: {} },
    ['aggregationRule.clusterRoleSelectors: Required value'],
  ],
  ['an aggregation', { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }, []],
  [
    'an aggregation of labels that are none',
    { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b c' } }] } },
    ['aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid'],
  ],
]);

const RBAC = 'rbac.authorization.k8s.io';
const account = { kind: 'ServiceAccount', name: 'a', namespace: 'ns' };
const user = { kind: 'User', name: 'u', apiGroup: RBAC };
const binding = {
  kind: 'RoleBinding',
  roleRef: { apiGroup: RBAC, kind: 'Role', name: 'r' },
  subjects: [account, user],
};
const to = (roleRef: Body) => ({ roleRef: { ...binding.roleRef, ...roleRef } });
const of = (...subjects: Body[]) => ({ subjects });
rows(validateBinding, binding, [
  ['a good binding', {}, []],
  ['a binding to a cluster role', to({ kind: 'ClusterRole', name: 'system:node' }), []],
  [
    'a binding to nothing',
    { roleRef: undefined },
    ['roleRef.apiGroup: Unsupported', 'roleRef.kind: Unsupported', 'roleRef.name: Required'],
  ],
  ['a binding to a name that is none', to({ name: 'a/b' }), ['roleRef.name: Invalid value: "a/b"']],
  [
    'a cluster binding to a role',
    { kind: 'ClusterRoleBinding' },
    ['roleRef.kind: Unsupported value: "Role"'],
  ],
  ['a binding of an account beside it', of({ kind: 'ServiceAccount', name: 'a' }), []],
  [
    'a cluster binding of an account nowhere',
    {
      kind: 'ClusterRoleBinding',
      ...to({ kind: 'ClusterRole' }),
      ...of({ kind: 'ServiceAccount', name: 'a' }),
    },
    ['subjects[0].namespace: Required value'],
  ],
  [
    'a cluster binding of an account',
    { kind: 'ClusterRoleBinding', ...to({ kind: 'ClusterRole' }), ...of(account) },
    [],
  ],
  [
    'a binding of an account that is none',
    of({ ...account, name: 'A', apiGroup: RBAC }),
    ['subjects[0].name: Invalid', 'subjects[0].apiGroup: Unsupported'],
  ],
  [
    'a binding of a user of no group',
    of({ kind: 'User', name: 'u' }),
    ['subjects[0].apiGroup: Unsupported value: ""'],
  ],
  ['a binding of a group', of({ kind: 'Group', name: 'system:nodes', apiGroup: RBAC }), []],
  [
    'a binding of nobody',
    of({}),
    ['subjects[0].name: Required value', 'subjects[0].kind: Unsupported value: ""'],
  ],
]);

test('the roleRef of a binding is immutable', () => {
  const changed = (roleRef: Body) =>
    changedFields(validateBindingUpdate, binding, { ...binding, ...to(roleRef) });
  assert.deepEqual(changed({}), []);
  assert.deepEqual(changed({ name: 's' }), ['roleRef']);
  assert.deepEqual(changed({ kind: 'ClusterRole' }), ['roleRef']);
  assert.deepEqual(changedFields(validateBindingUpdate, binding, { ...binding, subjects: [] }), []);
});
