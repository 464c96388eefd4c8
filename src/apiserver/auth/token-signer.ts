// Signs and verifies JSON Web Tokens with one ES256 key. Does not interpret the claims.

import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

export interface TokenSigner {
  /** For the JWKS document. */
  readonly publicJwk: Readonly<Record<string, unknown>>;
  sign(claims: object): string;
  /** The claims when this key signed the token, otherwise undefined. The caller checks the dates. */
  verify(token: string): Record<string, unknown> | undefined;
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function decode(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

export function createTokenSigner(privateKey: KeyObject): TokenSigner {
  const publicKey = createPublicKey(privateKey);
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const keyId = createHash('sha256').update(spki).digest('base64url');
  const header = encode({ alg: 'ES256', kid: keyId });

  return {
    publicJwk: { ...publicKey.export({ format: 'jwk' }), kid: keyId, alg: 'ES256', use: 'sig' },
    sign(claims) {
      const body = `${header}.${encode(claims)}`;
      const signature = sign('sha256', Buffer.from(body), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return `${body}.${signature.toString('base64url')}`;
    },
    verify(token) {
      const parts = token.split('.');
      const [head, body, signature] = parts;
      if (parts.length !== 3 || head === undefined || body === undefined || signature === undefined)
        return undefined;
      // The algorithm is fixed; the token's own header does not choose it.
      const stated = decode(head);
      if (stated?.alg !== 'ES256' || stated.kid !== keyId) return undefined;
      const good = verify(
        'sha256',
        Buffer.from(`${head}.${body}`),
        { key: publicKey, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url'),
      );
      return good ? decode(body) : undefined;
    },
  };
}
