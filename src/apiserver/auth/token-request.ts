// POST serviceaccounts/NAME/token: issues a service account token for a TokenRequest, bound to a pod, secret or node if
// requested. Stores nothing.

import { nodes, pods, secrets, serviceAccounts } from '../../api/kinds.ts';
import type { Metadata } from '../../api/object.ts';
import { KubeError, type StatusCause } from '../../runtime/kube/kube-error.ts';
import type { Clock, Random } from '../../runtime/ports.ts';
import type { Reader } from '../pipeline.ts';
import { API_AUDIENCES, ISSUER, type ServiceAccountClaims } from './service-account-token.ts';
import type { TokenSigner } from './token-signer.ts';
import { serviceAccountUsername } from './users.ts';

export interface TokenRequest {
  apiVersion?: string;
  kind?: string;
  metadata?: Partial<Metadata>;
  spec?: {
    audiences?: string[];
    expirationSeconds?: number;
    boundObjectRef?: { kind?: string; apiVersion?: string; name?: string; uid?: string };
  };
  status?: { token: string; expirationTimestamp: string };
}

export interface TokenIssuer {
  signer: TokenSigner;
  reader: Reader;
  clock: Clock;
  random: Pick<Random, 'uuid'>;
}

const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
const DEFAULT_SECONDS = 3600;

function invalid(causes: StatusCause[]): KubeError {
  const list = causes.map(({ field, message }) => `${field}: ${message}`).join(', ');
  return new KubeError({
    reason: 'Invalid',
    code: 422,
    message: `TokenRequest.authentication.k8s.io "" is invalid: ${causes.length > 1 ? `[${list}]` : list}`,
    details: { group: 'authentication.k8s.io', kind: 'TokenRequest', causes },
  });
}

function secondsOf(value: unknown): number {
  if (value === undefined || value === null) return DEFAULT_SECONDS;
  const field = 'spec.expirationSeconds';
  const wrong = (message: string) => invalid([{ reason: 'FieldValueInvalid', field, message }]);
  if (typeof value !== 'number' || !Number.isInteger(value)) throw wrong('Invalid value: must be an integer');
  if (value < MIN_SECONDS)
    throw wrong(`Invalid value: ${value}: may not specify a duration less than 10 minutes`);
  if (value > MAX_SECONDS)
    throw wrong(`Invalid value: ${value}: may not specify a duration larger than 2^32 seconds`);
  return value;
}

function audiencesOf(value: unknown): string[] {
  if (value === undefined || value === null) return [...API_AUDIENCES];
  if (!Array.isArray(value) || value.some((each) => typeof each !== 'string')) {
    const message = 'Invalid value: must be a list of strings';
    throw invalid([{ reason: 'FieldValueInvalid', field: 'spec.audiences', message }]);
  }
  return value.length === 0 ? [...API_AUDIENCES] : (value as string[]);
}

const notFound = (kind: string, name: string) =>
  new KubeError({
    reason: 'NotFound',
    code: 404,
    message: `${kind} "${name}" not found`,
    details: { name, kind },
  });

type Bound = Pick<ServiceAccountClaims['kubernetes.io'], 'pod' | 'secret' | 'node'>;

function bind(
  { reader }: TokenIssuer,
  account: { namespace: string; name: string },
  reference: NonNullable<NonNullable<TokenRequest['spec']>['boundObjectRef']>,
): Bound {
  const { kind, name = '', uid } = reference;
  const { namespace } = account;
  const checked = (plural: string, object: { metadata: Metadata } | undefined) => {
    if (!object) throw notFound(plural, name);
    if (uid !== undefined && uid !== '' && uid !== object.metadata.uid) {
      throw new KubeError({
        reason: 'Conflict',
        code: 409,
        message: `Operation cannot be fulfilled on ${kind} "${name}": the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      });
    }
    return { name, uid: object.metadata.uid };
  };
  switch (kind) {
    case 'Pod': {
      const pod = reader.get(pods, { namespace, name });
      const bound = checked('pods', pod);
      if (pod?.spec.serviceAccountName !== account.name) {
        throw new KubeError({
          reason: 'BadRequest',
          code: 400,
          message: `cannot bind token for serviceaccount "${account.name}" to pod running with different serviceaccount name.`,
        });
      }
      const { nodeName } = pod.spec;
      if (!nodeName) return { pod: bound };
      const nodeUid = reader.get(nodes, { name: nodeName })?.metadata.uid;
      return { pod: bound, node: { name: nodeName, ...(nodeUid ? { uid: nodeUid } : {}) } };
    }
    case 'Secret':
      return { secret: checked('secrets', reader.get(secrets, { namespace, name })) };
    case 'Node':
      return { node: checked('nodes', reader.get(nodes, { name })) };
  }
  throw new KubeError({
    reason: 'BadRequest',
    code: 400,
    message: `cannot bind token to object of type ${reference.apiVersion ?? ''}, Kind=${kind}: Pod, Secret and Node are supported`,
  });
}

/** The TokenRequest with its spec defaulted and the token in its status. Throws a KubeError. */
export function issueServiceAccountToken(
  issuer: TokenIssuer,
  account: { namespace: string; name: string },
  request: TokenRequest,
): TokenRequest {
  const { signer, reader, clock, random } = issuer;
  const found = reader.get(serviceAccounts, account);
  if (!found) throw notFound('serviceaccounts', account.name);
  const expirationSeconds = secondsOf(request.spec?.expirationSeconds);
  const audiences = audiencesOf(request.spec?.audiences);
  const reference = request.spec?.boundObjectRef;
  const bound = reference ? bind(issuer, account, reference) : {};

  const nowSeconds = Math.floor(clock.now() / 1000);
  const claims: ServiceAccountClaims = {
    aud: audiences,
    exp: nowSeconds + expirationSeconds,
    iat: nowSeconds,
    nbf: nowSeconds,
    iss: ISSUER,
    jti: random.uuid(),
    sub: serviceAccountUsername(account.namespace, account.name),
    'kubernetes.io': {
      namespace: account.namespace,
      serviceaccount: { name: account.name, uid: found.metadata.uid },
      ...bound,
    },
  };
  const seconds = (epoch: number) => new Date(epoch * 1000).toISOString().replace('.000Z', 'Z');
  return {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name: account.name, namespace: account.namespace, creationTimestamp: seconds(nowSeconds) },
    spec: { audiences, expirationSeconds, ...(reference ? { boundObjectRef: reference } : {}) },
    status: { token: signer.sign(claims), expirationTimestamp: seconds(claims.exp) },
  };
}
