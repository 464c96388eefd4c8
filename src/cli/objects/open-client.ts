// Opens the API client of a command on objects: from the given kubeconfig, KUBECONFIG, or that of `berth up` on this
// machine.

import { createHttpKubeClient, type HttpKubeClient } from '../../runtime/kube/http-kube-client.ts';
import type { Log } from '../../runtime/ports.ts';
import { realRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import type { Environment } from '../command.ts';
import { findKubeConfig } from './read-lines.ts';

export interface ObjectClient extends AsyncDisposable {
  readonly kube: HttpKubeClient;
  /** Its URL. */
  readonly server: string;
  /** The namespace of the kubeconfig's context. */
  readonly defaultNamespace: string;
}

export async function openClient(options: {
  flags: { kubeconfig: string | undefined; context: string | undefined };
  env: Environment;
  log: Log;
}): Promise<ObjectClient> {
  const { env, log } = options;
  const config = await findKubeConfig(options.flags, env);
  const kube = createHttpKubeClient({
    config,
    clock: realClock,
    random: realRandom,
    log,
    userAgent: 'berth-cli',
  });
  return {
    kube,
    server: config.server,
    defaultNamespace: config.namespace ?? 'default',
    [Symbol.asyncDispose]: () => kube.close(),
  };
}
