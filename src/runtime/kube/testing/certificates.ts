// Test support: a certificate authority of one's own.

import { webcrypto } from 'node:crypto';
import './reflect-polyfill.ts';

// Imported after the polyfill, whatever order a formatter gives to imports.
const x509 = await import('@peculiar/x509');

const KEY = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' } as const;

export interface Pair {
  certificate: string;
  key: string;
}

export interface Authority {
  /** PEM. */
  readonly certificate: string;
  issue(options: {
    commonName: string;
    names?: string[];
    client?: boolean;
    expired?: boolean;
  }): Promise<Pair>;
}

export async function createAuthority(commonName: string): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const name = `CN=${commonName}`;
  const validity = {
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 3_600_000),
  };
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    name,
    keys,
    signingAlgorithm: SIGNING,
    serialNumber: '01',
    ...validity,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  let serial = 1;
  return {
    certificate: own.toString('pem'),
    async issue({ commonName: subject, names = [], client = false, expired = false }) {
      const pair = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
      const certificate = await x509.X509CertificateGenerator.create({
        subject: `CN=${subject}`,
        issuer: name,
        publicKey: pair.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: SIGNING,
        serialNumber: `0${++serial}`,
        notBefore: validity.notBefore,
        notAfter: expired ? new Date(Date.now() - 60_000) : validity.notAfter,
        extensions: [
          new x509.ExtendedKeyUsageExtension([
            client ? x509.ExtendedKeyUsage.clientAuth : x509.ExtendedKeyUsage.serverAuth,
          ]),
          ...(names.length === 0
            ? []
            : [
                new x509.SubjectAlternativeNameExtension(
                  names.map((value) => ({ type: /^[\d.]+$/.test(value) ? 'ip' : 'dns', value })),
                ),
              ]),
        ],
      });
      const key = await webcrypto.subtle.exportKey('pkcs8', pair.privateKey);
      return { certificate: certificate.toString('pem'), key: x509.PemConverter.encode(key, 'PRIVATE KEY') };
    },
  };
}
