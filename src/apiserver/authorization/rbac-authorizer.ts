// RBAC: allows what a role bound to the user grants, and has no opinion on the rest.

import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../api/kinds.ts';
import type { Resource } from '../../api/object.ts';
import type { Attributes, Authorizer, Decision, Reader, User } from '../pipeline.ts';
import { createBindingIndex, type Grant } from './binding-index.ts';
import type { CompiledRules, PolicyRule } from './policy-rules.ts';
import { createRoleIndex, type RoleRef } from './role-index.ts';

export interface RbacAuthorizer extends Authorizer {
  /** Everything the user may do in a namespace (including cluster-wide grants), or cluster-wide only. */
  rulesFor(user: User, namespace: string | undefined): PolicyRule[];
  /** The rules of a role, including aggregated ones. Undefined when the role does not exist. */
  rulesOfRole(ref: RoleRef, namespace: string | undefined): readonly PolicyRule[] | undefined;
}

const NO_OPINION: Decision = { decision: 'no-opinion' };

interface Granted {
  readonly rules: CompiledRules;
  readonly allow: Decision;
}

function reasonOf({ roleRef, binding, namespace }: Grant, subject: string): string {
  const where = namespace ? `RoleBinding "${binding}/${namespace}"` : `ClusterRoleBinding "${binding}"`;
  return `RBAC: allowed by ${where} of ${roleRef.kind} "${roleRef.name}" to ${subject}`;
}

export function createRbacAuthorizer(reader: Reader): RbacAuthorizer {
  const index = createRoleIndex(reader);
  const bindings = createBindingIndex(reader);
  /** By user, then namespace. Any change of roles or bindings invalidates all of it. */
  let granted = new WeakMap<User, Map<string, readonly Granted[]>>();
  const forget = () => {
    granted = new WeakMap();
  };
  const whatCounts: readonly Resource[] = [clusterRoles, roles, clusterRoleBindings, roleBindings];
  for (const kind of whatCounts) reader.subscribe(kind, forget);

  function grantedTo(user: User, namespace: string): readonly Granted[] {
    let ofUser = granted.get(user);
    if (ofUser === undefined) {
      ofUser = new Map();
      granted.set(user, ofUser);
    }
    let here = ofUser.get(namespace);
    if (here === undefined) {
      here = [...bindings.grantsOf(user, namespace || undefined)].map(({ grant, subject }) => ({
        rules: index.rulesOf(grant.roleRef, grant.namespace),
        allow: { decision: 'allow', reason: reasonOf(grant, subject) },
      }));
      ofUser.set(namespace, here);
    }
    return here;
  }

  return {
    authorize(attributes: Attributes): Decision {
      const { user, namespace, plural } = attributes;
      for (const { rules, allow } of grantedTo(user, plural === undefined ? '' : (namespace ?? ''))) {
        if (rules.allows(attributes)) return allow;
      }
      return NO_OPINION;
    },
    rulesFor(user, namespace) {
      const rules = new Map<string, PolicyRule>();
      for (const { grant } of bindings.grantsOf(user, namespace)) {
        for (const rule of index.rulesOf(grant.roleRef, grant.namespace).rules) {
          rules.set(JSON.stringify(rule), rule);
        }
      }
      return [...rules.values()];
    },
    rulesOfRole: (ref, namespace) =>
      index.has(ref, namespace) ? index.rulesOf(ref, namespace).rules : undefined,
  };
}
