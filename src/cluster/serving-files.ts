// The certificate with which parts of a cluster serve others over TLS: the API server's, in files as such parts expect them.

import { join } from 'node:path';
import type { Pki } from '../apiserver/auth/pki.ts';
import { writePrivateFile } from '../apiserver/auth/private-file.ts';
import type { ServingFiles } from './part-context.ts';

/** `host`: one that the certificate is for. */
export async function writeServingFiles(pki: Pki, directory: string, host: string): Promise<ServingFiles> {
  const files = {
    certificate: join(directory, 'tls.crt'),
    key: join(directory, 'tls.key'),
    ca: join(directory, 'ca.crt'),
  };
  const { certificatePem, keyPem } = await pki.serving();
  await Promise.all([
    writePrivateFile(files.certificate, certificatePem),
    writePrivateFile(files.key, keyPem),
    writePrivateFile(files.ca, pki.caPem),
  ]);
  return { ...files, host };
}
