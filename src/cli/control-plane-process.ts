// A process of the control plane: connects to the API server, serves metrics and health, waits for the lease, runs what
// it is given. What `controller-manager` and `scheduler` have in common, with the flags of their namesakes.

import { hostname } from 'node:os';
import type { Controller, DiscoveringPorts } from '../control-plane/controller.ts';
import { createEventRecorder } from '../runtime/events/create-event-recorder.ts';
import { boolFlag, durationFlag, stringFlag } from '../runtime/flags/flag.ts';
import type { FlagValues } from '../runtime/flags/parse-flags.ts';
import { createInformers } from '../runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../runtime/kube/http-kube-client.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { loadKubeConfig } from '../runtime/kube/load-kube-config.ts';
import { createLeaderHealth } from '../runtime/leases/leader-health.ts';
import { runWithLease } from '../runtime/leases/run-with-lease.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import { serveHttpEndpoint } from '../runtime/process/http-endpoint.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import {
  endpointAddress,
  endpointFlags,
  kubeconfigFlag,
  paceFlags,
} from '../sidecars/common/common-flags.ts';
import { type CommandContext, UsageError } from './command.ts';
import { packageVersion } from './version.ts';

const election = 'Leader election';

export const controlPlaneFlags = {
  kubeconfig: kubeconfigFlag,
  ...paceFlags,
  ...endpointFlags,
  'leader-elect': boolFlag({
    help: 'Work only while holding a Lease, so that several replicas may run',
    default: true,
    group: election,
  }),
  'leader-elect-lease-duration': durationFlag({
    help: 'How long a Lease counts after its last renewal',
    default: 15_000,
    group: election,
  }),
  'leader-elect-renew-deadline': durationFlag({
    help: 'How long the leader tries to renew before it stops',
    default: 10_000,
    group: election,
  }),
  'leader-elect-retry-period': durationFlag({
    help: 'Time between attempts to take or renew the Lease',
    default: 2_000,
    group: election,
  }),
  'leader-elect-resource-namespace': stringFlag({
    help: 'Namespace of the Lease',
    default: 'kube-system',
    group: election,
  }),
};

/** The Lease's name is each program's own, so that it stands beside the real one or takes its place. */
export const leaseNameFlag = (name: string) =>
  stringFlag({ help: 'Name of the Lease', default: name, group: election });

export interface ControlPlaneProgram {
  readonly name: string;
  readonly leaseName: string;
  create(ports: DiscoveringPorts): Controller;
  /** What must be so before it asks for the lease; throws when it cannot go on. */
  prepare?(kube: KubeClient, signal: AbortSignal): Promise<void>;
  releaseOnExit?: boolean;
}

/** Resolves when told to stop; rejects when it cannot go on, with a message that says why. */
export async function runControlPlaneProcess(
  program: ControlPlaneProgram,
  flags: FlagValues<typeof controlPlaneFlags>,
  { signal, log, env }: Pick<CommandContext<typeof controlPlaneFlags>, 'signal' | 'log' | 'env'>,
): Promise<void> {
  const address = addressOf(flags);
  const ports = { clock: realClock, random: realRandom, log };
  const metrics = createMetrics({ clock: realClock });
  const identity = `${hostname()}_${realRandom.uuid()}`;
  const health = createLeaderHealth({ clock: realClock });
  const config = await loadKubeConfig({
    env,
    ...(flags.kubeconfig === '' ? {} : { path: flags.kubeconfig }),
  });
  const kube = createHttpKubeClient({
    ...ports,
    config,
    metrics,
    userAgent: `berth-${program.name}/${await packageVersion()}`,
    ...(flags.kubeApiQps === undefined ? {} : { qps: flags.kubeApiQps }),
    ...(flags.kubeApiBurst === undefined ? {} : { burst: flags.kubeApiBurst }),
  });
  // The endpoint outlives the work: a probe during a slow stop must not find the port closed.
  const endpoint = new AbortController();
  try {
    if (address !== undefined) {
      await serveHttpEndpoint({
        address,
        metrics,
        metricsPath: flags.metricsPath,
        checks: flags.leaderElect ? { 'leader-election': () => health.check() } : {},
        log,
        signal: endpoint.signal,
      });
    }
    const recorder = createEventRecorder({
      ...ports,
      kube,
      metrics,
      component: program.name,
      instance: identity,
    });
    const lead = async (leading: AbortSignal): Promise<void> => {
      const informers = createInformers({ ...ports, kube, metrics, ownsObjects: true });
      const controller = program.create({ ...ports, kube, discovery: kube, informers, recorder, metrics });
      informers.start(leading);
      log.info('Running', { controllers: controller.name });
      await controller.run(leading);
    };
    try {
      await program.prepare?.(kube, signal);
      if (flags.leaderElect) {
        const namespace = flags.leaderElectResourceNamespace || config.namespace || 'default';
        const lease = {
          namespace,
          name: program.leaseName,
          identity,
          ...(program.releaseOnExit === undefined ? {} : { releaseOnExit: program.releaseOnExit }),
        };
        const times = {
          leaseDurationMs: flags.leaderElectLeaseDurationMs,
          renewDeadlineMs: flags.leaderElectRenewDeadlineMs,
          retryPeriodMs: flags.leaderElectRetryPeriodMs,
        };
        await runWithLease({ ...ports, kube, metrics, health, ...lease, ...times }, lead, signal);
      } else await lead(signal);
    } finally {
      // After the lease was given back: what is left to say must not hold up the next leader.
      await recorder.flush();
    }
  } finally {
    endpoint.abort();
    await kube.close();
  }
}

function addressOf(flags: FlagValues<typeof controlPlaneFlags>): string | undefined {
  try {
    return endpointAddress(flags);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
