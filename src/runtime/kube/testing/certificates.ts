// Test support: a certificate authority of one's own.

import { generateKeyPairSync } from 'node:crypto';
import { issueCertificate } from '../../../apiserver/auth/certificate.ts';

export interface Pair {
  certificate: string;
  key: string;
}

export interface Authority {
  /** PEM. */
  readonly certificate: string;
  issue(options: { commonName: string; names?: string[]; client?: boolean; expired?: boolean }): Pair;
}

const HOUR_MS = 3_600_000;

export function createAuthority(commonName: string): Authority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { commonName, privateKey };
  const nowMs = Date.now();
  const validity = { notBeforeMs: nowMs - HOUR_MS, notAfterMs: nowMs + HOUR_MS };
  return {
    certificate: issueCertificate({ commonName, publicKey, purpose: 'ca', ...validity }, issuer),
    issue({ commonName: subject, names = [], client = false, expired = false }) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const certificate = issueCertificate(
        {
          commonName: subject,
          publicKey: pair.publicKey,
          purpose: client ? 'client' : 'server',
          hosts: names,
          notBeforeMs: validity.notBeforeMs,
          notAfterMs: expired ? nowMs - 60_000 : validity.notAfterMs,
        },
        issuer,
      );
      return { certificate, key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
    },
  };
}
