// The certificate with which parts of a cluster serve others over TLS: the API server's, in files as such parts expect them.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pki } from '../apiserver/auth/pki.ts';
import type { ServingFiles } from './part-context.ts';

/** `host`: one that the certificate is for. Written anew at each start, so nothing waits for the disk. */
export async function writeServingFiles(pki: Pki, directory: string, host: string): Promise<ServingFiles> {
  const files = {
    certificate: join(directory, 'tls.crt'),
    key: join(directory, 'tls.key'),
    ca: join(directory, 'ca.crt'),
  };
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { certificatePem, keyPem } = await pki.serving();
  const secret = { mode: 0o600 };
  await Promise.all([
    writeFile(files.certificate, certificatePem, secret),
    writeFile(files.key, keyPem, secret),
    writeFile(files.ca, pki.caPem, secret),
  ]);
  return { ...files, host };
}
