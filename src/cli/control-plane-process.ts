// Runs controllers of the control plane as a process (runtime/process), with the flags that kube-controller-manager and
// kube-scheduler share.

import type { Controller, DiscoveringPorts } from '../control-plane/controller.ts';
import { boolFlag, durationFlag, inGroup, stringFlag } from '../runtime/flags/flag.ts';
import type { FlagValues } from '../runtime/flags/parse-flags.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import {
  type ElectionTimes,
  endpointFlags,
  endpointOf,
  kubeConfigOf,
  kubeconfigFlag,
  limitsOf,
  paceFlags,
} from '../runtime/process/process-flags.ts';
import { runProcess } from '../runtime/process/run-process.ts';
import type { CommandContext } from './command.ts';
import { kubernetesGates } from './kubernetes-gates.ts';
import { processContext } from './process-context.ts';

const election = 'Leader election';

export const controlPlaneFlags = {
  'feature-gates': kubernetesGates,
  kubeconfig: kubeconfigFlag,
  ...paceFlags,
  ...endpointFlags,
  ...inGroup(election, {
    'leader-elect': boolFlag({
      help: 'Work only while holding a Lease, so that several replicas may run',
      default: true,
    }),
    'leader-elect-lease-duration': durationFlag({
      help: 'How long a Lease is valid after its last renewal',
      default: 15_000,
    }),
    'leader-elect-renew-deadline': durationFlag({
      help: 'How long the leader tries to renew before it stops',
      default: 10_000,
    }),
    'leader-elect-retry-period': durationFlag({
      help: 'Time between attempts to take or renew the Lease',
      default: 2_000,
    }),
    'leader-elect-resource-namespace': stringFlag({ help: 'Namespace of the Lease', default: 'kube-system' }),
  }),
};

/** The default name depends on the program: it can run beside the official one or replace it. */
export const leaseNameFlag = (name: string) =>
  stringFlag({ help: 'Name of the Lease', default: name, group: election });

export interface ControlPlaneProgram {
  readonly name: string;
  readonly leaseName: string;
  /** Undefined: no leader election. */
  readonly election: ElectionTimes | undefined;
  /** The namespace of the Lease. */
  readonly namespace: string;
  create(ports: DiscoveringPorts): Controller;
  /** Runs before leader election; throws when the process cannot continue. */
  prepare?(kube: KubeClient, signal: AbortSignal): Promise<void>;
}

const connectionFlags = { kubeconfig: kubeconfigFlag, ...paceFlags, ...endpointFlags };

/** Resolves when the signal aborts; rejects when it cannot continue, with the reason. */
export async function runControlPlaneProcess(
  program: ControlPlaneProgram,
  flags: FlagValues<typeof connectionFlags>,
  command: Pick<CommandContext<typeof connectionFlags>, 'signal' | 'log' | 'env'>,
): Promise<void> {
  const { name, leaseName, election, namespace } = program;
  const endpoint = endpointOf(flags);
  const context = await processContext(name, command);
  const config = await kubeConfigOf(flags, command.env);
  const options = { config, limits: limitsOf(flags), endpoint, election, namespace };
  await runProcess(options, context, async ({ kube, metrics, signal, recorderFor, lead }) => {
    const { clock, random, log } = context;
    await program.prepare?.(kube, signal);
    const recorder = recorderFor(name);
    await lead({
      leaseName,
      create(informers, share) {
        const own = share?.kube ?? kube;
        const ports = { clock, random, log, metrics, kube: own, informers, recorder, shares: share?.shares };
        const controller = program.create({ ...ports, discovery: own });
        log.info('Running', { controllers: controller.name });
        return controller;
      },
    });
  });
}

/** The settings of `--leader-elect…`; undefined without leader election. */
export const electionOf = (flags: FlagValues<typeof controlPlaneFlags>) => ({
  namespace: flags.leaderElectResourceNamespace,
  election: flags.leaderElect
    ? {
        leaseDurationMs: flags.leaderElectLeaseDurationMs,
        renewDeadlineMs: flags.leaderElectRenewDeadlineMs,
        retryPeriodMs: flags.leaderElectRetryPeriodMs,
      }
    : undefined,
});
