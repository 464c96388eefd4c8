// Kubeconfig files for the embedded server. A file that Berth wrote is replaced. Any other file is never changed: the
// write fails with an error that says what to do.

import type { User } from '../pipeline.ts';
import type { KeyAndCertificate, Pki } from './pki.ts';
import { readOptionalFile, writePrivateFile } from './private-file.ts';
import { GROUP_AUTHENTICATED } from './users.ts';

/** JSON is YAML: every client reads it, and no YAML library is needed. */
export interface Kubeconfig {
  apiVersion: 'v1';
  kind: 'Config';
  'current-context': string;
  clusters: { name: string; cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { name: string; user: Record<string, string> }[];
  contexts: { name: string; context: { cluster: string; user: string; namespace?: string } }[];
  preferences: Record<string, never>;
}

const CLUSTER = 'berth';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export function kubeconfigFor(options: {
  server: string;
  caPem: string;
  user: { name: string } & (KeyAndCertificate | { token: string });
  namespace?: string;
}): Kubeconfig {
  const { server, caPem, user, namespace } = options;
  const credentials =
    'token' in user
      ? { token: user.token }
      : {
          'client-certificate-data': base64(user.certificatePem),
          'client-key-data': base64(user.keyPem),
        };
  const context = `${user.name}@${CLUSTER}`;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    clusters: [{ name: CLUSTER, cluster: { server, 'certificate-authority-data': base64(caPem) } }],
    users: [{ name: user.name, user: credentials }],
    contexts: [
      { name: context, context: { cluster: CLUSTER, user: user.name, ...(namespace ? { namespace } : {}) } },
    ],
    preferences: {},
  };
}

/** A kubeconfig with a client certificate for this user. */
export function issueKubeconfig(options: {
  server: string;
  pki: Pick<Pki, 'caPem' | 'issueClientCertificate'>;
  user: User;
}): Kubeconfig {
  const { server, pki, user } = options;
  const certificate = pki.issueClientCertificate({
    commonName: user.name,
    // Every certificate's user gets this group anyway.
    organizations: user.groups.filter((group) => group !== GROUP_AUTHENTICATED),
  });
  return kubeconfigFor({ server, caPem: pki.caPem, user: { name: user.name, ...certificate } });
}

/** Ours are JSON with one cluster of our name; any other content was written or edited by someone else. */
function isOurs(text: string): boolean {
  try {
    const config = JSON.parse(text) as Partial<Kubeconfig>;
    return (
      config.clusters?.length === 1 && config.clusters[0]?.name === CLUSTER && config.users?.length === 1
    );
  } catch {
    return text.trim() === '';
  }
}

/** Mode 0600, replaced atomically. Throws when `path` holds a kubeconfig that is not ours. */
export async function writeKubeconfig(path: string, config: Kubeconfig): Promise<void> {
  const present = await readOptionalFile(path);
  if (present !== undefined && !isOurs(present)) {
    throw new Error(
      `${path} exists and was not written by berth, so it was left as it is. Give another file, or merge afterwards: KUBECONFIG=${path}:OTHER kubectl config view --flatten`,
    );
  }
  await writePrivateFile(path, `${JSON.stringify(config, undefined, 2)}\n`);
}
