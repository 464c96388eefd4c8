// The chain of authorizers: the masters' group, then nodes, then RBAC. The first that allows decides.

import { parseFieldSelector } from '../../api/selectors.ts';
import { GROUP_MASTERS } from '../auth/users.ts';
import type { Attributes, Authorizer, Decision, Reader, User } from '../pipeline.ts';
import { createNodeAuthorizer } from './node-authorizer.ts';
import type { PolicyRule } from './policy-rules.ts';
import { createRbacAuthorizer } from './rbac-authorizer.ts';
import type { RoleRef } from './role-index.ts';

export interface ClusterAuthorizer extends Authorizer {
  /** What the user may do by RBAC rules; nodes may do more, by relation. */
  rulesFor(user: User, namespace: string | undefined): PolicyRule[];
  /** Undefined when the role does not exist. */
  rulesOfRole(ref: RoleRef, namespace: string | undefined): readonly PolicyRule[] | undefined;
}

const MASTER_RULES: PolicyRule[] = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
];

/** A list or watch of `metadata.name=x` counts as a request for x, so rules with that resourceName apply. */
function withSelectedName(attributes: Attributes): Attributes {
  const { verb, name, fieldSelector } = attributes;
  if (name || !fieldSelector || !['list', 'watch', 'deletecollection'].includes(verb)) return attributes;
  try {
    const selected = parseFieldSelector(fieldSelector).find(
      (each) => each.field === 'metadata.name' && each.equals,
    );
    return selected?.value ? { ...attributes, name: selected.value } : attributes;
  } catch {
    return attributes;
  }
}

/**
 * A Namespace counts as being in itself: a RoleBinding there that allows reading namespaces allows reading this one.
 */
function withOwnNamespace(attributes: Attributes): Attributes {
  const { group, plural, namespace, name, verb } = attributes;
  if (plural !== 'namespaces' || group !== '' || namespace || !name || verb === 'create') return attributes;
  return { ...attributes, namespace: name };
}

/** Loads the reader's current objects first, then follows its changes. */
export function createAuthorizer({ reader }: { reader: Reader }): ClusterAuthorizer {
  const node = createNodeAuthorizer(reader);
  const rbac = createRbacAuthorizer(reader);

  return {
    authorize(given): Decision {
      if (given.user.groups.includes(GROUP_MASTERS)) return { decision: 'allow' };
      const attributes = withOwnNamespace(withSelectedName(given));
      const byNode = node.authorize(attributes);
      if (byNode.decision !== 'no-opinion') return byNode;
      const byRbac = rbac.authorize(attributes);
      return byRbac.decision === 'no-opinion' && byNode.reason ? byNode : byRbac;
    },
    rulesFor(user, namespace) {
      return user.groups.includes(GROUP_MASTERS) ? MASTER_RULES : rbac.rulesFor(user, namespace);
    },
    rulesOfRole: rbac.rulesOfRole,
  };
}
