// Which rights of Berth's published roles an account lacks, as further roles and bindings that have these and no more. Pure.

import type { PolicyRule, RoleRef, Subject } from 'kubernetes-types/rbac/v1.js';
import type { Manifest } from '../plan.ts';

export interface Binding {
  kind: 'ClusterRoleBinding' | 'RoleBinding';
  metadata: { name: string; namespace?: string };
  subjects?: readonly Subject[];
  roleRef: RoleRef;
}

export interface Role {
  kind: 'ClusterRole' | 'Role';
  metadata: { name: string; namespace?: string };
  rules?: readonly PolicyRule[];
}

interface Rbac extends Manifest {
  rules?: PolicyRule[];
  roleRef?: RoleRef;
}

export interface RightsFacts {
  account: { name: string; namespace: string };
  bindings: readonly Binding[];
  roles: readonly Role[];
  /** Roles and bindings that Berth publishes for the components of this account. */
  published: readonly Manifest[];
}

export function missingRights({ account, bindings, roles, published }: RightsFacts): Manifest[] {
  const held = bindings.filter(({ subjects = [] }) =>
    subjects.some(
      ({ kind, name, namespace }) =>
        kind === 'ServiceAccount' && name === account.name && namespace === account.namespace,
    ),
  );
  const rulesOf = ({ roleRef, metadata: { namespace } }: Binding): readonly PolicyRule[] =>
    roles.find(
      (role) =>
        role.kind === roleRef.kind &&
        role.metadata.name === roleRef.name &&
        (role.kind === 'ClusterRole' || role.metadata.namespace === namespace),
    )?.rules ?? [];
  const everywhere = held.filter(({ kind }) => kind === 'ClusterRoleBinding').flatMap(rulesOf);
  const within = (namespace: string | undefined): readonly PolicyRule[] => [
    ...everywhere,
    ...held
      .filter(({ kind, metadata }) => kind === 'RoleBinding' && metadata.namespace === namespace)
      .flatMap(rulesOf),
  ];

  const wanting = new Map<string, Rbac>();
  for (const object of published as readonly Rbac[]) {
    if (object.kind !== 'ClusterRole' && object.kind !== 'Role') continue;
    const granted = object.kind === 'ClusterRole' ? everywhere : within(object.metadata.namespace);
    const rules = (object.rules ?? []).flatMap((rule) => lacking(rule, granted));
    if (rules.length > 0) wanting.set(`${object.kind} ${object.metadata.name}`, { ...object, rules });
  }
  const bound = (published as readonly Rbac[]).filter(
    ({ roleRef }) => roleRef && wanting.has(`${roleRef.kind} ${roleRef.name}`),
  );
  return [...wanting.values(), ...bound];
}

/** The part of a rule that no granted rule has: one rule for each resource that lacks a verb. */
function lacking(rule: PolicyRule, granted: readonly PolicyRule[]): PolicyRule[] {
  const { apiGroups = [], resources = [], verbs, resourceNames } = rule;
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => {
      const missing = verbs.filter(
        (verb) => !granted.some((each) => allows(each, { group, resource, verb, resourceNames })),
      );
      if (missing.length === 0) return [];
      return [
        {
          apiGroups: [group],
          resources: [resource],
          verbs: missing,
          ...(resourceNames && { resourceNames }),
        },
      ];
    }),
  );
}

interface Right {
  group: string;
  resource: string;
  verb: string;
  resourceNames: string[] | undefined;
}

function allows(rule: PolicyRule, { group, resource, verb, resourceNames }: Right): boolean {
  const has = (list: readonly string[] | undefined, value: string): boolean =>
    list !== undefined && (list.includes(value) || list.includes('*'));
  const named = rule.resourceNames ?? [];
  const isNamed = named.length === 0 || resourceNames?.every((name) => named.includes(name)) === true;
  return isNamed && has(rule.apiGroups, group) && has(rule.resources, resource) && has(rule.verbs, verb);
}
