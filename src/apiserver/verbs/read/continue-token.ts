// The continue token of a list: the revision that all pages show, and the key to continue after.

import { badRequest } from '../status.ts';

export interface ContinueToken {
  /** −1: the current revision, for clients that accept an inconsistent list. */
  revision: number;
  startAfter: string;
}

export function encodeContinueToken({ revision, startAfter }: ContinueToken): string {
  const text = JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: startAfter });
  return Buffer.from(text).toString('base64url');
}

export function decodeContinueToken(token: string): ContinueToken {
  let parsed: { v?: unknown; rv?: unknown; start?: unknown } | null = null;
  try {
    parsed = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  } catch {
    // Rejected below, like any other invalid token.
  }
  const { v, rv, start } = parsed ?? {};
  if (v !== 'meta.k8s.io/v1' || !Number.isSafeInteger(rv) || typeof start !== 'string' || start === '') {
    throw badRequest('continue key is not valid: the token was not issued by this server');
  }
  return { revision: rv as number, startAfter: start };
}
