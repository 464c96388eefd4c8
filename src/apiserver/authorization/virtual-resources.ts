// The review kinds, which are created, answered and never stored: SelfSubjectReview, TokenReview, the access reviews
// and SelfSubjectRulesReview.

import type { Metadata } from '../../api/object.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { GROUP_MASTERS } from '../auth/users.ts';
import type { Attributes, User } from '../pipeline.ts';
import type { ClusterAuthorizer } from './authorizer.ts';

export interface VirtualResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Returns the posted object with its status filled in. The request is authorized already. */
  create(body: Review, user: User, namespace?: string): object;
}

interface Review {
  apiVersion?: string;
  kind?: string;
  metadata?: Partial<Metadata>;
  spec?: Record<string, unknown>;
}

interface AccessSpec {
  resourceAttributes?: {
    namespace?: string;
    verb?: string;
    group?: string;
    version?: string;
    resource?: string;
    subresource?: string;
    name?: string;
    fieldSelector?: {
      rawSelector?: string;
      requirements?: { key: string; operator: string; values?: string[] }[];
    };
  };
  nonResourceAttributes?: { path?: string; verb?: string };
  user?: string;
  groups?: string[];
  uid?: string;
  extra?: Record<string, string[]>;
}

const AUTHENTICATION = 'authentication.k8s.io';
const AUTHORIZATION = 'authorization.k8s.io';

const badRequest = (message: string) => new KubeError({ reason: 'BadRequest', code: 400, message });

function attributesOf(user: User, spec: AccessSpec): Attributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  if ((resource === undefined) === (path === undefined)) {
    throw badRequest(
      'exactly one of spec.resourceAttributes and spec.nonResourceAttributes must be specified',
    );
  }
  if (path) return { user, verb: path.verb ?? '', path: path.path ?? '' };
  const { verb = '', group = '', version = '', namespace, name, subresource, fieldSelector } = resource ?? {};
  const selector =
    fieldSelector?.rawSelector ??
    fieldSelector?.requirements
      ?.filter(({ operator, values }) => operator === 'In' && values?.length === 1)
      .map(({ key, values }) => `${key}=${values?.[0]}`)
      .join(',');
  return {
    user,
    verb,
    group,
    version,
    plural: resource?.resource ?? '',
    ...(subresource ? { subresource } : {}),
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
    ...(selector ? { fieldSelector: selector } : {}),
  };
}

function showUser(user: User): object {
  const { name, uid, groups, extra } = user;
  return { username: name, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) };
}

export function virtualResources(ports: {
  authorizer: ClusterAuthorizer;
  authenticator: Pick<Authenticator, 'checkToken'>;
}): VirtualResource[] {
  const { authorizer, authenticator } = ports;
  const define = (
    group: string,
    kind: string,
    namespaced: boolean,
    answer: (spec: Record<string, unknown>, user: User, namespace: string | undefined) => object,
  ): VirtualResource => {
    const singular = kind.toLowerCase();
    return {
      group,
      version: 'v1',
      kind,
      singular,
      plural: `${singular}s`,
      namespaced,
      create: (body, user, namespace) => ({
        ...body,
        apiVersion: `${group}/v1`,
        kind,
        metadata: { creationTimestamp: null, ...body.metadata },
        status: answer(body.spec ?? {}, user, namespace),
      }),
    };
  };

  const judge = (attributes: Attributes): object => {
    const { decision, reason } = authorizer.authorize(attributes);
    return {
      allowed: decision === 'allow',
      ...(decision === 'deny' ? { denied: true } : {}),
      ...(reason ? { reason } : {}),
    };
  };
  const subjectOf = ({ user, groups = [], uid, extra }: AccessSpec): User => {
    if (!user && groups.length === 0)
      throw badRequest('at least one of spec.user and spec.groups must be specified');
    return { name: user ?? '', groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) };
  };

  return [
    define(AUTHENTICATION, 'SelfSubjectReview', false, (_, user) => ({ userInfo: showUser(user) })),
    define(AUTHENTICATION, 'TokenReview', false, (spec) => {
      const { token, audiences } = spec as { token?: string; audiences?: string[] };
      if (typeof token !== 'string' || token === '')
        throw badRequest('token is required for TokenReview in authentication');
      const verdict = authenticator.checkToken(
        token,
        Array.isArray(audiences) && audiences.length > 0 ? audiences : undefined,
      );
      if ('problem' in verdict) return { authenticated: false, error: verdict.problem };
      return { authenticated: true, user: showUser(verdict.user), audiences: verdict.audiences };
    }),
    define(AUTHORIZATION, 'SelfSubjectAccessReview', false, (spec, user) => judge(attributesOf(user, spec))),
    define(AUTHORIZATION, 'SubjectAccessReview', false, (spec) => judge(attributesOf(subjectOf(spec), spec))),
    define(AUTHORIZATION, 'LocalSubjectAccessReview', true, (spec, _, namespace) => {
      const attributes = attributesOf(subjectOf(spec), spec);
      if (attributes.plural === undefined || attributes.namespace !== namespace) {
        throw badRequest(`spec.resourceAttributes.namespace must be "${namespace ?? ''}"`);
      }
      return judge(attributes);
    }),
    define(AUTHORIZATION, 'SelfSubjectRulesReview', false, (spec, user) => {
      const { namespace } = spec as { namespace?: string };
      if (!namespace) throw badRequest('no namespace on request');
      const rules = authorizer.rulesFor(user, namespace);
      const isNode = user.groups.includes('system:nodes') && !user.groups.includes(GROUP_MASTERS);
      return {
        resourceRules: rules
          .filter((rule) => rule.resources?.length)
          .map(({ verbs, apiGroups, resources, resourceNames }) => ({
            verbs,
            apiGroups,
            resources,
            ...(resourceNames?.length ? { resourceNames } : {}),
          })),
        nonResourceRules: rules
          .filter((rule) => rule.nonResourceURLs?.length)
          .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
        incomplete: isNode,
        ...(isNode ? { evaluationError: 'what a node may read depends on its pods and is not listed' } : {}),
      };
    }),
  ];
}
