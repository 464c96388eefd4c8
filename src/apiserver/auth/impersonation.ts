// `Impersonate-*` headers: the user to act as. Each impersonated attribute needs its own permission from the
// authorizer. Pure apart from that check.

import { setOwn } from '../../api/own-property.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { forbidden } from '../authorization/forbidden.ts';
import type { Attributes, Authorizer, User } from '../pipeline.ts';
import {
  GROUP_AUTHENTICATED,
  GROUP_UNAUTHENTICATED,
  parseServiceAccountUsername,
  serviceAccountGroups,
  USER_ANONYMOUS,
} from './users.ts';

/** Lower-case names with separate values: Node's `request.headersDistinct` (`headers` would join the groups). */
export type DistinctHeaders = Readonly<Record<string, readonly string[] | undefined>>;

const AUTHENTICATION = 'authentication.k8s.io';
const EXTRA_PREFIX = 'impersonate-extra-';

function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** The user to act as; `user` itself without such headers. Throws a KubeError when that is not allowed. */
export function impersonate(options: { user: User; headers: DistinctHeaders; authorizer: Authorizer }): User {
  const { user, headers, authorizer } = options;
  const name = headers['impersonate-user']?.[0] ?? '';
  const groups = headers['impersonate-group'] ?? [];
  const uid = headers['impersonate-uid']?.[0] ?? '';
  const extra: Record<string, readonly string[]> = {};
  for (const [header, values] of Object.entries(headers)) {
    if (header.startsWith(EXTRA_PREFIX) && values) {
      setOwn(extra, unescapeKey(header.slice(EXTRA_PREFIX.length)), values);
    }
  }
  if (name === '') {
    if (groups.length === 0 && uid === '' && Object.keys(extra).length === 0) return user;
    throw new KubeError({
      reason: 'BadRequest',
      code: 400,
      message: 'groups, uid or extra fields were to be impersonated without Impersonate-User',
    });
  }

  const demand = (what: Omit<Attributes, 'user' | 'verb'>) => {
    const attributes: Attributes = { user, verb: 'impersonate', ...what };
    const { decision, reason } = authorizer.authorize(attributes);
    if (decision !== 'allow') throw forbidden(attributes, reason);
  };
  const account = parseServiceAccountUsername(name);
  if (account) demand({ group: '', version: 'v1', plural: 'serviceaccounts', ...account });
  else demand({ group: '', version: 'v1', plural: 'users', name });
  for (const group of groups) demand({ group: '', version: 'v1', plural: 'groups', name: group });
  for (const [key, values] of Object.entries(extra)) {
    for (const value of values) {
      demand({ group: AUTHENTICATION, version: 'v1', plural: 'userextras', subresource: key, name: value });
    }
  }
  if (uid !== '') demand({ group: AUTHENTICATION, version: 'v1', plural: 'uids', name: uid });

  const all = groups.length > 0 ? [...groups] : account ? serviceAccountGroups(account.namespace) : [];
  const stated = all.includes(GROUP_AUTHENTICATED) || all.includes(GROUP_UNAUTHENTICATED);
  if (name === USER_ANONYMOUS) {
    if (!all.includes(GROUP_UNAUTHENTICATED)) all.push(GROUP_UNAUTHENTICATED);
  } else if (!stated) {
    all.push(GROUP_AUTHENTICATED);
  }
  return {
    name,
    groups: all,
    ...(uid === '' ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}
