// Role-based access control: allows what some role bound to the user grants, and has no opinion on the rest.

import type { Attributes, Authorizer, Decision, Reader, User } from '../pipeline.ts';
import { createBindingIndex } from './binding-index.ts';
import type { PolicyRule } from './policy-rules.ts';
import { createRoleIndex, type RoleRef } from './role-index.ts';

export interface RbacAuthorizer extends Authorizer {
  /** Everything the user may do in a namespace (cluster-wide grants included), or cluster-wide only. */
  rulesFor(user: User, namespace: string | undefined): PolicyRule[];
  /** What a role grants, aggregation included. */
  rulesOfRole(ref: RoleRef, namespace: string | undefined): readonly PolicyRule[];
}

const NO_OPINION: Decision = { decision: 'no-opinion' };

export function createRbacAuthorizer(reader: Reader): RbacAuthorizer {
  const roles = createRoleIndex(reader);
  const bindings = createBindingIndex(reader);

  return {
    authorize(attributes: Attributes): Decision {
      const { user, namespace, plural } = attributes;
      for (const { grant, subject } of bindings.grantsOf(
        user,
        plural === undefined ? undefined : namespace,
      )) {
        if (!roles.rulesOf(grant.roleRef, grant.namespace).allows(attributes)) continue;
        const { roleRef, binding } = grant;
        const where = grant.namespace
          ? `RoleBinding "${binding}/${grant.namespace}"`
          : `ClusterRoleBinding "${binding}"`;
        const reason = `RBAC: allowed by ${where} of ${roleRef.kind} "${roleRef.name}" to ${subject}`;
        return { decision: 'allow', reason };
      }
      return NO_OPINION;
    },
    rulesFor(user, namespace) {
      const rules = new Map<string, PolicyRule>();
      for (const { grant } of bindings.grantsOf(user, namespace)) {
        for (const rule of roles.rulesOf(grant.roleRef, grant.namespace).rules) {
          rules.set(JSON.stringify(rule), rule);
        }
      }
      return [...rules.values()];
    },
    rulesOfRole: (ref, namespace) => roles.rulesOf(ref, namespace).rules,
  };
}
