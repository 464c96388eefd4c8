// Authenticates a request by client certificate or bearer token. Invalid credentials are rejected; only a request without
// any is anonymous.

import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { Reader, User } from '../pipeline.ts';
import type { Pki } from './pki.ts';
import { createServiceAccountTokens, type TokenVerdict } from './service-account-token.ts';
import { ANONYMOUS, authenticated } from './users.ts';

export interface Credentials {
  /** From the TLS socket (`getPeerCertificate()` or an X509Certificate); without `raw` there was none. */
  peerCertificate?: { readonly raw?: Uint8Array } | undefined;
  authorizationHeader?: string | undefined;
}

export type Authentication = { user: User } | { error: KubeError };

export interface Authenticator {
  authenticate(credentials: Credentials): Authentication;
  /** For TokenReview: authenticates a bare token. */
  checkToken(token: string, audiences?: readonly string[]): TokenVerdict;
}

const CLIENT_AUTHENTICATION = '1.3.6.1.5.5.7.3.2';
const MAX_REMEMBERED = 1024;

const unauthorized = (problem: string): { error: KubeError } => ({
  error: new KubeError({ reason: 'Unauthorized', code: 401, message: `Unauthorized: ${problem}` }),
});

const digestOf = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('base64');

interface KnownCertificate {
  user: User;
  fromMs: number;
  toMs: number;
}

export function createAuthenticator(ports: {
  pki: Pick<Pki, 'caPem' | 'serviceAccountKey'>;
  reader: Reader;
  clock: Clock;
  /** Token to user; `system:authenticated` is added. */
  staticTokens?: ReadonlyMap<string, User>;
}): Authenticator {
  const { pki, reader, clock } = ports;
  const tokens = createServiceAccountTokens({ signer: pki.serviceAccountKey, reader, clock });
  // By digest: constant-time comparison.
  const staticUsers = new Map(
    [...(ports.staticTokens ?? [])].map(([token, user]) => [digestOf(token), authenticated(user)] as const),
  );
  let caKey: KeyObject | undefined;
  const knownCertificates = new Map<string, KnownCertificate>();
  /** Cached by connection: it presents the same certificate with each request. */
  const ofConnections = new WeakMap<Uint8Array, KnownCertificate>();

  function readCertificate(raw: Uint8Array): KnownCertificate | undefined {
    const certificate = new X509Certificate(raw);
    caKey ??= createPublicKey(pki.caPem);
    if (!certificate.verify(caKey) || certificate.ca) return undefined;
    if (!certificate.keyUsage?.includes(CLIENT_AUTHENTICATION)) return undefined;
    const subject = certificate.toLegacyObject().subject as unknown as Record<string, string | string[]>;
    const name = [subject.CN ?? []].flat()[0];
    if (name === undefined || name === '') return undefined;
    return {
      user: authenticated({ name, groups: [subject.O ?? []].flat() }),
      fromMs: Date.parse(certificate.validFrom),
      toMs: Date.parse(certificate.validTo),
    };
  }

  function knownCertificate(raw: Uint8Array): KnownCertificate | undefined {
    const digest = digestOf(raw);
    let known = knownCertificates.get(digest);
    if (known) return known;
    try {
      known = readCertificate(raw);
    } catch {
      return undefined;
    }
    if (!known) return undefined;
    if (knownCertificates.size >= MAX_REMEMBERED) knownCertificates.clear();
    knownCertificates.set(digest, known);
    return known;
  }

  function byCertificate(raw: Uint8Array): Authentication {
    const known = ofConnections.get(raw) ?? knownCertificate(raw);
    if (!known) return unauthorized("the client certificate is not one of this server's");
    ofConnections.set(raw, known);
    const now = clock.now();
    if (now < known.fromMs) return unauthorized('the client certificate is not valid yet');
    if (now > known.toMs) return unauthorized('the client certificate has expired');
    return { user: known.user };
  }

  function checkToken(token: string, audiences?: readonly string[]): TokenVerdict {
    const known = staticUsers.get(digestOf(token));
    if (known) return { user: known, audiences: [...(audiences ?? [])] };
    const verdict = tokens.check(token, audiences);
    return 'problem' in verdict ? verdict : { ...verdict, user: authenticated(verdict.user) };
  }

  function byHeader(header: string): Authentication {
    const token = /^bearer +([^\s]+)\s*$/i.exec(header)?.[1];
    if (token === undefined) return unauthorized('the Authorization header is not "Bearer <token>"');
    const verdict = checkToken(token);
    return 'problem' in verdict ? unauthorized(verdict.problem) : { user: verdict.user };
  }

  return {
    checkToken,
    authenticate({ peerCertificate, authorizationHeader }) {
      const raw = peerCertificate?.raw;
      const certified = raw?.length ? byCertificate(raw) : undefined;
      if (certified && 'user' in certified) return certified;
      if (authorizationHeader) return byHeader(authorizationHeader);
      return certified ?? { user: ANONYMOUS };
    },
  };
}
