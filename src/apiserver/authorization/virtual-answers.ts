// Handles resources that are never stored: the reviews, and tokens of service accounts. The caller has authorized the
// request; admission of a token request happens here, since no store write follows.

import type { KubeObject } from '../../api/object.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Clock, Random } from '../../runtime/ports.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Pki } from '../auth/pki.ts';
import { issueServiceAccountToken, type TokenRequest } from '../auth/token-request.ts';
import type { Kind, Subresource } from '../kind.ts';
import type { AdmissionPlugin, Reader, User } from '../pipeline.ts';
import type { ClusterAuthorizer } from './authorizer.ts';
import { virtualResources } from './virtual-resources.ts';

export interface VirtualRequest {
  readonly user: User;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource: Subresource;
  readonly dryRun: boolean;
  warn(message: string): void;
}

/** Undefined when the request is about another resource. */
export type VirtualAnswers = (request: VirtualRequest, body: unknown) => object | undefined;

export function createVirtualAnswers(ports: {
  authorizer: ClusterAuthorizer;
  authenticator: Pick<Authenticator, 'checkToken'>;
  admission: readonly AdmissionPlugin[];
  pki: Pick<Pki, 'serviceAccountKey'>;
  reader: Reader;
  clock: Clock;
  random: Pick<Random, 'uuid'>;
}): VirtualAnswers {
  const { admission, pki, reader, clock, random } = ports;
  const reviews = new Map(virtualResources(ports).map((each) => [`${each.plural}.${each.group}`, each]));
  const issuer = { signer: pki.serviceAccountKey, reader, clock, random };

  function issueToken(request: VirtualRequest, body: TokenRequest): object {
    const { namespace = '', name } = request;
    const asked = {
      ...request,
      operation: 'create' as const,
      object: body as unknown as KubeObject,
      oldObject: undefined,
      warn: (message: string) => request.warn(message),
    };
    for (const plugin of admission) plugin.mutate?.(asked);
    for (const plugin of admission) plugin.validate?.(asked);
    return issueServiceAccountToken(issuer, { namespace, name }, body);
  }

  return (request, body) => {
    const { kind, subresource, user, namespace } = request;
    const review = subresource === '' ? reviews.get(`${kind.plural}.${kind.group}`) : undefined;
    const isToken = subresource === 'token' && kind.plural === 'serviceaccounts' && kind.group === '';
    if (!review && !isToken) return undefined;
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      const expected = review?.kind ?? 'TokenRequest';
      throw new KubeError({ reason: 'BadRequest', code: 400, message: `the body must be a ${expected}` });
    }
    return review ? review.create(body, user, namespace) : issueToken(request, body as TokenRequest);
  };
}
