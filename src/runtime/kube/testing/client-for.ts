// Test support: a client on real sockets whose waits pass a thousand times faster.

import { fastClock } from '../../informer/testing/fast-clock.ts';
import { memoryLog } from '../../log/log.ts';
import { seededRandom } from '../../random.ts';
import {
  createHttpKubeClient,
  type HttpKubeClient,
  type HttpKubeClientOptions,
} from '../http-kube-client.ts';
import type { KubeConfig } from '../kube-config.ts';

export function clientFor(
  config: Partial<KubeConfig> & { server: string },
  options: Partial<HttpKubeClientOptions> = {},
): HttpKubeClient & AsyncDisposable {
  const client = createHttpKubeClient({
    clock: fastClock,
    random: seededRandom('client'),
    log: memoryLog(),
    ...options,
    config: { source: 'the-kubeconfig', tls: {}, auth: {}, ...config },
  });
  return { ...client, [Symbol.asyncDispose]: () => client.close() };
}
