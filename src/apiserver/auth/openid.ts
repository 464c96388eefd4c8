// OpenID discovery: lets others verify the tokens of service accounts with the server's public key. Authorized by path,
// like any other document: by default to service accounts.

import type { PathHandler } from '../../runtime/process/path-handler.ts';
import { ISSUER } from './service-account-token.ts';
import type { TokenSigner } from './token-signer.ts';

const CONFIGURATION = '/.well-known/openid-configuration';
const KEYS = '/openid/v1/jwks';
/** As kube-apiserver. The key lives as long as the server's data. */
const CACHED = 'public, max-age=3600';

/** `urlOf` is asked per request: the port is known once the server listens. */
export function openIdPaths(signer: TokenSigner, urlOf: () => string): Record<string, PathHandler> {
  return {
    [CONFIGURATION]: answering('application/json', () => ({
      issuer: ISSUER,
      jwks_uri: `${urlOf()}${KEYS}`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [signer.publicJwk.alg],
    })),
    [KEYS]: answering('application/jwk-set+json', () => ({ keys: [signer.publicJwk] })),
  };
}

function answering(contentType: string, document: () => object): PathHandler {
  return async ({ response }) => {
    response.writeHead(200, { 'Content-Type': contentType, 'Cache-Control': CACHED });
    response.end(JSON.stringify(document()));
  };
}
