// Reads lines from a path of an API server: the trace and the logs of `berth up`, and logs and metrics of any cluster.

import { existsSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import { defaultDataDirectory, kubeconfigIn } from '../../cluster/data-directory.ts';
import { CredentialSource } from '../../runtime/kube/credentials.ts';
import { type KubeConfig, KubeConfigError } from '../../runtime/kube/kube-config.ts';
import { loadKubeConfig } from '../../runtime/kube/load-kube-config.ts';
import { realClock } from '../../runtime/time/clock.ts';
import type { Environment } from '../command.ts';

/** The given kubeconfig, KUBECONFIG, or that of `berth up` on this machine. */
export async function findKubeConfig(
  flags: { kubeconfig: string | undefined; context?: string | undefined },
  env: Environment,
): Promise<KubeConfig> {
  const own = kubeconfigIn(defaultDataDirectory(env));
  const path = flags.kubeconfig ?? (env.KUBECONFIG || !existsSync(own) ? undefined : own);
  try {
    return await loadKubeConfig({
      env,
      ...(path !== undefined && { path }),
      ...(flags.context !== undefined && { context: flags.context }),
    });
  } catch (error) {
    if (!(error instanceof KubeConfigError) || !error.isAbsent) throw error;
    throw new Error(`${error.message}; or start a cluster on this machine: berth up`);
  }
}

/** Yields lines as they arrive. An abort of the signal ends it without an error. */
export async function* readLines(
  config: KubeConfig,
  asked: { path: string; what: string; signal: AbortSignal },
): AsyncGenerator<string> {
  const answer = await open(config, asked);
  try {
    for await (const line of createInterface({ input: answer })) if (line !== '') yield line;
  } catch (error) {
    if (!asked.signal.aborted) throw error;
  }
}

/** The answer of an API server to a request for one of its paths, whatever its status. */
export async function requestPath(
  config: KubeConfig,
  { path, method, signal }: { path: string; method: string; signal: AbortSignal },
): Promise<IncomingMessage> {
  const { headers, tls } = await new CredentialSource({ config, clock: realClock }).current();
  return new Promise<IncomingMessage>((resolve, reject) => {
    const url = new URL(path, config.server);
    const { insecureSkipVerify, serverName } = config.tls;
    const options = {
      method,
      headers: { ...headers },
      ...tls,
      ...(insecureSkipVerify && { rejectUnauthorized: false }),
      ...(serverName !== undefined && { servername: serverName }),
      signal,
    };
    const request = (url.protocol === 'http:' ? httpRequest : httpsRequest)(url, options, resolve);
    request.on('error', (error) =>
      reject(
        new Error(
          `the API server at ${config.server} (${config.source}) cannot be reached: ${error.message}`,
        ),
      ),
    );
    request.end();
  });
}

async function open(
  config: KubeConfig,
  { path, what, signal }: { path: string; what: string; signal: AbortSignal },
): Promise<IncomingMessage> {
  const answer = await requestPath(config, { path, method: 'GET', signal });
  const server = `the API server at ${config.server}`;
  if (answer.statusCode === 200) return answer;
  answer.resume();
  if (answer.statusCode === 403)
    throw new Error(`${server} (${config.source}) may only give its ${what} to an administrator`);
  if (answer.statusCode === 404) throw new Error(`${server} keeps no ${what}; it is \`berth up\` that does`);
  throw new Error(`${server} answered ${answer.statusCode} to the request for its ${what}`);
}
