// Clients for actions: the server of a kubeconfig, and nothing of its credentials.

import { createHttpKubeClient } from '../runtime/kube/http-kube-client.ts';
import type { KubeConfig } from '../runtime/kube/kube-config.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import type { ActAs } from './serve-dashboard.ts';

export function actAsViewer(
  config: Pick<KubeConfig, 'server' | 'source' | 'tls'>,
  ports: { clock: Clock; random: Random; log: Log },
): ActAs {
  const { server, source, tls } = config;
  return (value) => {
    const kube = createHttpKubeClient({
      ...ports,
      config: { server, source, tls, auth: { token: { field: 'the token', kind: 'inline', value } } },
    });
    return { kube, close: () => kube.close() };
  };
}
