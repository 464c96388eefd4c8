// Runs a populator as a process, until the signal aborts.

import { hostname } from 'node:os';
import type { KubeObject } from '../api/object.ts';
import { loadKubeConfig } from '../runtime/kube/load-kube-config.ts';
import { createLog } from '../runtime/log/log.ts';
import type { Log } from '../runtime/ports.ts';
import { runProcess } from '../runtime/process/run-process.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { createPopulator } from './create-populator.ts';
import type { PopulatorDefinition } from './populator-definition.ts';

export interface RunPopulatorOptions {
  signal: AbortSignal;
  /** Otherwise the pod's account, then `KUBECONFIG`, then `~/.kube/config`. */
  kubeconfig?: string;
  /** Where metrics and health are served, as in `:8080`; nowhere unless given. */
  httpEndpoint?: string;
  env?: Readonly<Record<string, string | undefined>>;
  log?: Log;
}

export async function runPopulator<S extends KubeObject>(
  definition: PopulatorDefinition<S>,
  options: RunPopulatorOptions,
): Promise<void> {
  const { signal, env = process.env, httpEndpoint, kubeconfig } = options;
  const config = await loadKubeConfig({ env, ...(kubeconfig && { path: kubeconfig }) });
  const log =
    options.log ?? createLog({ verbosity: 0, format: 'text', clock: realClock, stream: process.stderr });
  const name = `${definition.prefix}-populator`;
  const endpoint = httpEndpoint ? { address: httpEndpoint, metricsPath: '/metrics' } : undefined;
  const common = { clock: realClock, random: realRandom, log };
  const context = { ...common, env, hostname: hostname(), userAgent: name, signal };
  await runProcess({ config, endpoint }, context, async ({ kube, metrics, recorderFor, lead }) => {
    const recorder = recorderFor(name);
    await lead({
      leaseName: name,
      create: (informers) => createPopulator({ ...common, kube, informers, metrics, recorder }, definition),
    });
  });
}
