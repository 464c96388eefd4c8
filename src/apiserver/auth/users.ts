// The user and group names that have a meaning in Kubernetes.

import type { User } from '../pipeline.ts';

export const GROUP_MASTERS = 'system:masters';
export const GROUP_NODES = 'system:nodes';
export const GROUP_AUTHENTICATED = 'system:authenticated';
export const GROUP_UNAUTHENTICATED = 'system:unauthenticated';
const GROUP_SERVICE_ACCOUNTS = 'system:serviceaccounts';
export const USER_ANONYMOUS = 'system:anonymous';

const NODE_PREFIX = 'system:node:';
const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';

export const ANONYMOUS: User = { name: USER_ANONYMOUS, groups: [GROUP_UNAUTHENTICATED] };
export const ADMIN: User = { name: 'kubernetes-admin', groups: [GROUP_MASTERS, GROUP_AUTHENTICATED] };

/** This server, when it asks a kubelet. */
export const KUBELET_CLIENT: User = {
  name: 'kube-apiserver-kubelet-client',
  groups: [GROUP_AUTHENTICATED],
};

export const serviceAccountUsername = (namespace: string, name: string): string =>
  `${SERVICE_ACCOUNT_PREFIX}${namespace}:${name}`;

export const serviceAccountGroups = (namespace: string): string[] => [
  GROUP_SERVICE_ACCOUNTS,
  `${GROUP_SERVICE_ACCOUNTS}:${namespace}`,
];

/** The user of a service account, for components that use the local entry point. */
export function serviceAccountUser(namespace: string, name: string): User {
  return {
    name: serviceAccountUsername(namespace, name),
    groups: [...serviceAccountGroups(namespace), GROUP_AUTHENTICATED],
  };
}

export function nodeUser(nodeName: string): User {
  return { name: NODE_PREFIX + nodeName, groups: [GROUP_NODES, GROUP_AUTHENTICATED] };
}

export function parseServiceAccountUsername(
  username: string,
): { namespace: string; name: string } | undefined {
  if (!username.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const [namespace, name, ...rest] = username.slice(SERVICE_ACCOUNT_PREFIX.length).split(':');
  return namespace && name && rest.length === 0 ? { namespace, name } : undefined;
}

/** The node name of a user; `''` for a member of the nodes' group without one, undefined for anyone else. */
export function nodeNameOf(user: User): string | undefined {
  if (!user.groups.includes(GROUP_NODES)) return undefined;
  return user.name.startsWith(NODE_PREFIX) ? user.name.slice(NODE_PREFIX.length) : '';
}

/** The user with `system:authenticated` among its groups. */
export function authenticated(user: User): User {
  if (user.groups.includes(GROUP_AUTHENTICATED) || user.name === USER_ANONYMOUS) return user;
  return { ...user, groups: [...user.groups, GROUP_AUTHENTICATED] };
}
