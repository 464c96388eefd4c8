// The account that Kubernetes gives to a pod: server from the environment, token and CA from the mounted directory.

import { join } from 'node:path';
import { type KubeConfig, KubeConfigError } from './kube-config.ts';

export const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Undefined outside a pod: no KUBERNETES_SERVICE_HOST, or no token mounted. */
export async function loadInClusterConfig(options: {
  env: Readonly<Record<string, string | undefined>>;
  readFile: (path: string) => Promise<string>;
  directory: string;
}): Promise<KubeConfig | undefined> {
  const { env, readFile, directory } = options;
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (!host || !port) return undefined;
  const tokenPath = join(directory, 'token');
  try {
    await readFile(tokenPath);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new KubeConfigError(`cannot read the pod's token ${tokenPath}: ${(error as Error).message}`);
  }
  const namespace = await readFile(join(directory, 'namespace')).catch(() => '');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    source: `the pod's service account in ${directory}`,
    ...(namespace.trim() === '' ? {} : { namespace: namespace.trim() }),
    tls: { ca: { kind: 'file', field: 'CA', path: join(directory, 'ca.crt') } },
    auth: { token: { kind: 'file', field: 'token', path: tokenPath } },
  };
}
