// Role bindings indexed by subject, updated from the store. Reads; writes nothing.

import type { ClusterRoleBinding, RoleBinding } from '../../api/kinds.ts';
import { clusterRoleBindings, roleBindings } from '../../api/kinds.ts';
import { serviceAccountUsername } from '../auth/users.ts';
import type { Reader, User } from '../pipeline.ts';
import type { RoleRef } from './role-index.ts';

export interface Grant {
  roleRef: RoleRef;
  /** Undefined for a ClusterRoleBinding. */
  namespace: string | undefined;
  binding: string;
}

type Binding = ClusterRoleBinding | RoleBinding;
/** By scope ('' is the cluster), then binding name. */
type Grants = Map<string, Map<string, Grant>>;

function subjectKeys(binding: Binding): string[] {
  const keys = new Set<string>();
  for (const { kind, name, namespace = binding.metadata.namespace } of binding.subjects ?? []) {
    if (kind === 'User') keys.add(`user ${name}`);
    else if (kind === 'Group') keys.add(`group ${name}`);
    else if (kind === 'ServiceAccount' && namespace)
      keys.add(`user ${serviceAccountUsername(namespace, name)}`);
  }
  return [...keys];
}

export interface BindingIndex {
  /** Cluster-wide grants first, then those of the namespace when one is given. */
  grantsOf(user: User, namespace: string | undefined): Iterable<{ grant: Grant; subject: string }>;
}

export function createBindingIndex(reader: Reader): BindingIndex {
  const bySubject = new Map<string, Grants>();

  function remove(binding: Binding): void {
    const { namespace: scope = '', name } = binding.metadata;
    for (const key of subjectKeys(binding)) {
      const grants = bySubject.get(key);
      const inScope = grants?.get(scope);
      inScope?.delete(name);
      if (inScope?.size === 0) grants?.delete(scope);
      if (grants?.size === 0) bySubject.delete(key);
    }
  }

  function add(binding: Binding): void {
    const { namespace, name } = binding.metadata;
    const { kind, name: roleName } = binding.roleRef;
    const grant: Grant = { roleRef: { kind, name: roleName }, namespace, binding: name };
    for (const key of subjectKeys(binding)) {
      const grants = bySubject.get(key) ?? new Map<string, Map<string, Grant>>();
      bySubject.set(key, grants);
      const inScope = grants.get(namespace ?? '') ?? new Map<string, Grant>();
      grants.set(namespace ?? '', inScope);
      inScope.set(name, grant);
    }
  }

  const follow = (before: Binding | undefined, after: Binding | undefined) => {
    if (before) remove(before);
    if (after) add(after);
  };
  for (const binding of reader.list(clusterRoleBindings)) add(binding);
  for (const binding of reader.list(roleBindings)) add(binding);
  reader.subscribe(clusterRoleBindings, follow);
  reader.subscribe(roleBindings, follow);

  return {
    grantsOf: (user, namespace) => grantsIn(bySubject, user, namespace ? ['', namespace] : ['']),
  };
}

function* grantsIn(
  bySubject: ReadonlyMap<string, Grants>,
  user: User,
  scopes: readonly string[],
): Generator<{ grant: Grant; subject: string }> {
  for (const scope of scopes) {
    for (const grant of bySubject.get(`user ${user.name}`)?.get(scope)?.values() ?? []) {
      yield { grant, subject: `User "${user.name}"` };
    }
    for (const group of user.groups) {
      for (const grant of bySubject.get(`group ${group}`)?.get(scope)?.values() ?? []) {
        yield { grant, subject: `Group "${group}"` };
      }
    }
  }
}
