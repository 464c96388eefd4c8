// Claims and validity of service account tokens: signed by our key, not expired, for this audience, and the account
// with this UID still exists, as does the pod, secret or node that the token is bound to. Reads; writes nothing.

import { nodes, pods, secrets, serviceAccounts } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { Reader, User } from '../pipeline.ts';
import type { TokenSigner } from './token-signer.ts';
import { serviceAccountGroups, serviceAccountUsername } from './users.ts';

export const ISSUER = 'https://kubernetes.default.svc.cluster.local';
export const API_AUDIENCES: readonly string[] = [ISSUER, 'api'];

/** Grace period after deletion: a terminating pod may still call the API. */
const DELETED_GRACE_MS = 60_000;

interface Reference {
  name: string;
  uid?: string;
}

export interface ServiceAccountClaims {
  aud: string[];
  exp: number;
  iat: number;
  nbf: number;
  iss: string;
  jti: string;
  sub: string;
  'kubernetes.io': {
    namespace: string;
    serviceaccount: Reference;
    pod?: Reference;
    secret?: Reference;
    node?: Reference;
  };
}

export type TokenVerdict = { user: User; audiences: string[] } | { problem: string };

const isReference = (value: unknown): value is Reference =>
  typeof value === 'object' && value !== null && typeof (value as Reference).name === 'string';

function isClaims(claims: Record<string, unknown>): boolean {
  const bound = claims['kubernetes.io'] as Partial<ServiceAccountClaims['kubernetes.io']> | undefined;
  return (
    claims.iss === ISSUER &&
    Array.isArray(claims.aud) &&
    typeof claims.exp === 'number' &&
    typeof claims.nbf === 'number' &&
    typeof bound?.namespace === 'string' &&
    isReference(bound.serviceaccount)
  );
}

export function createServiceAccountTokens(ports: { signer: TokenSigner; reader: Reader; clock: Clock }): {
  /** Validates a token for any of `audiences` (those of this API server when absent). */
  check(token: string, audiences?: readonly string[]): TokenVerdict;
} {
  const { signer, reader, clock } = ports;
  // A signature never changes, so it is verified once; everything else is checked at every use.
  const verified = new Map<string, ServiceAccountClaims>();
  const MAX_REMEMBERED = 2048;

  function claimsOf(token: string): ServiceAccountClaims | undefined {
    const known = verified.get(token);
    if (known) return known;
    const claims = signer.verify(token);
    if (!claims || !isClaims(claims)) return undefined;
    if (verified.size >= MAX_REMEMBERED) {
      const oldest = verified.keys().next().value;
      if (oldest !== undefined) verified.delete(oldest);
    }
    const checked = claims as unknown as ServiceAccountClaims;
    verified.set(token, checked);
    return checked;
  }

  function gone(object: KubeObject | undefined, reference: Reference): boolean {
    if (!object || object.metadata.uid !== reference.uid) return true;
    const deleted = object.metadata.deletionTimestamp;
    return deleted !== undefined && Date.parse(deleted) < clock.now() - DELETED_GRACE_MS;
  }

  return {
    check(token, audiences = API_AUDIENCES) {
      const claims = claimsOf(token);
      if (!claims) return { problem: 'the bearer token was not issued by this server' };
      const nowSeconds = clock.now() / 1000;
      if (claims.exp <= nowSeconds) return { problem: 'the service account token has expired' };
      if (claims.nbf > nowSeconds + 60) return { problem: 'the service account token is not valid yet' };
      const matching = claims.aud.filter((audience) => audiences.includes(audience));
      if (matching.length === 0) {
        return { problem: `the service account token is for audience ${claims.aud.join(', ')}` };
      }
      const { namespace, serviceaccount, pod, secret, node } = claims['kubernetes.io'];
      const account = reader.get(serviceAccounts, { namespace, name: serviceaccount.name });
      if (gone(account, serviceaccount)) {
        return { problem: `service account ${namespace}/${serviceaccount.name} is gone` };
      }
      if (pod && gone(reader.get(pods, { namespace, name: pod.name }), pod)) {
        return { problem: `pod ${namespace}/${pod.name}, to which the token is bound, is gone` };
      }
      if (secret && gone(reader.get(secrets, { namespace, name: secret.name }), secret)) {
        return { problem: `secret ${namespace}/${secret.name}, to which the token is bound, is gone` };
      }
      // For tokens bound to a pod the node is informational.
      if (node && !pod && gone(reader.get(nodes, { name: node.name }), node)) {
        return { problem: `node ${node.name}, to which the token is bound, is gone` };
      }
      return { user: userOf(claims), audiences: matching };
    },
  };
}

function userOf(claims: ServiceAccountClaims): User {
  const { namespace, serviceaccount, pod, node } = claims['kubernetes.io'];
  const extra: Record<string, string[]> = {
    'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`],
  };
  const add = (kind: string, reference: Reference | undefined) => {
    if (!reference) return;
    extra[`authentication.kubernetes.io/${kind}-name`] = [reference.name];
    if (reference.uid) extra[`authentication.kubernetes.io/${kind}-uid`] = [reference.uid];
  };
  add('pod', pod);
  add('node', node);
  return {
    name: serviceAccountUsername(namespace, serviceaccount.name),
    ...(serviceaccount.uid ? { uid: serviceaccount.uid } : {}),
    groups: serviceAccountGroups(namespace),
    extra,
  };
}
