// A serving certificate and its key in files, read again while they may change: Kubernetes replaces the files of a Secret,
// and cert-manager renews them, without restarting anybody. A pair that cannot be used is reported, and the last good one
// stays in use.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { SecureContextOptions } from 'node:tls';
import type { Clock, Log } from '../../runtime/ports.ts';
import { every } from '../../runtime/time/every.ts';

export interface CertificateFiles {
  /** PEM: the certificate, and those of intermediate authorities after it. */
  certificate: string;
  /** PEM. */
  key: string;
}

/** Restrictions of the protocol. */
export type TlsSettings = Pick<SecureContextOptions, 'minVersion' | 'ciphers' | 'ecdhCurve'>;

/** How often the files are read: they are small, and a mounted Secret changes within a minute. */
const READ_AGAIN_MS = 10_000;

interface Certificate {
  cert: string;
  key: string;
}

/** Rejects when the first pair cannot be used. `renewed` is called with each later pair. */
export async function watchCertificate(
  files: CertificateFiles,
  { log, clock }: { log: Log; clock: Clock },
  renewed: (certificate: Certificate) => void,
): Promise<{ first: Certificate; stop(): void }> {
  const first = await readPair(files);
  const ending = new AbortController();
  let current = first;
  let problem = '';
  const look = async (): Promise<void> => {
    try {
      const found = await readPair(files);
      problem = '';
      if (found.cert === current.cert && found.key === current.key) return;
      renewed(found);
      current = found;
      const { validTo } = new X509Certificate(found.cert);
      log.info('Using the renewed TLS certificate', { ...files, validTo });
    } catch (error) {
      const { message } = error as Error;
      // Once, not with every look.
      if (message !== problem) log.warn('Keeping the previous TLS certificate', { err: message });
      problem = message;
    }
  };
  void every({ clock, intervalMs: READ_AGAIN_MS, signal: ending.signal }, () => void look());
  return { first, stop: () => ending.abort(new Error('the server stopped')) };
}

async function readPair({ certificate, key }: CertificateFiles): Promise<Certificate> {
  const read = (path: string, what: string): Promise<string> =>
    readFile(path, 'utf8').catch((error: Error) => {
      throw new Error(`cannot read the TLS ${what}: ${error.message}`, { cause: error });
    });
  const [certPem, keyPem] = await Promise.all([read(certificate, 'certificate'), read(key, 'key')]);
  try {
    if (!new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem))) {
      throw new Error('they do not belong together');
    }
  } catch (error) {
    throw new Error(
      `cannot use the TLS certificate ${certificate} with the key ${key}: ${(error as Error).message}`,
      { cause: error },
    );
  }
  return { cert: certPem, key: keyPem };
}
