// `berth snapshot-controller`: a drop-in for the official snapshot-controller.

import { volumeSnapshotClasses, volumeSnapshotContents, volumeSnapshots } from '../api/kinds.ts';
import type { Resource } from '../api/object.ts';
import { createSnapshotController } from '../control-plane/snapshot/snapshot-controller.ts';
import { featureGatesFlag } from '../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag, intFlag } from '../runtime/flags/flag.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isNotFound } from '../runtime/kube/kube-error.ts';
import {
  electionTimes,
  endpointFlags,
  kubeconfigFlag,
  leaseFlags,
  paceFlags,
  releaseOnExitGate,
  shardingFlags,
  shardingOf,
} from '../runtime/process/process-flags.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand } from './command.ts';
import { runControlPlaneProcess } from './control-plane-process.ts';

const { 'leader-election-labels': _ofSidecars, ...electionFlags } = leaseFlags;
const LOOK_MS = 250;

export const command = defineCommand({
  summary: 'Binds VolumeSnapshots to their contents, for all CSI drivers of a cluster',
  description:
    'Runs once per cluster, for all drivers; each driver has a snapshotter sidecar that calls the ' +
    'driver. Accepts the flags of the official snapshot-controller.',
  flags: {
    kubeconfig: kubeconfigFlag,
    ...paceFlags,
    ...endpointFlags,
    ...electionFlags,
    ...shardingFlags,
    'worker-threads': intFlag({
      help: 'Number of workers for snapshots, contents and claims',
      default: 10,
      min: 1,
    }),
    'resync-period': durationFlag({ help: 'Interval of the full resync', default: 900_000 }),
    'retry-interval-start': durationFlag({
      help: 'Initial retry interval; doubles with each failure',
      default: 1_000,
      min: 1,
    }),
    'retry-interval-max': durationFlag({ help: 'Maximum retry interval', default: 300_000, min: 1 }),
    'retry-crd-interval-max': durationFlag({
      help: 'How long to wait for the CustomResourceDefinitions of snapshots to be installed',
      default: 30_000,
    }),
    'enable-distributed-snapshotting': boolFlag({
      help: 'Set the managing node on each content, for snapshotters with --node-deployment',
    }),
    'prevent-volume-mode-conversion': boolFlag({
      help: 'Record the volume mode on each content, to prevent a restore with another mode',
      default: true,
    }),
    automaxprocs: boolFlag({
      help: 'Fit the number of threads to the CPU limit',
      ignored: 'the work runs in one thread',
    }),
    'feature-gates': featureGatesFlag({
      ...releaseOnExitGate,
      CSIVolumeGroupSnapshot: {
        default: false,
        stage: 'stable',
        help: 'Consistent snapshots of several volumes (VolumeGroupSnapshot)',
      },
    }),
  },
  async run(context) {
    const { flags } = context;
    await runControlPlaneProcess(
      {
        name: 'snapshot-controller',
        leaseName: 'snapshot-controller-leader',
        namespace: flags.leaderElectionNamespace,
        election:
          flags.leaderElection || flags.sharding
            ? {
                ...electionTimes(flags),
                releaseOnExit: flags.featureGates.ReleaseLeaderElectionOnExit,
                sharding: shardingOf(flags),
              }
            : undefined,
        prepare: (kube, signal) => awaitDefinitions(kube, { withinMs: flags.retryCrdIntervalMaxMs, signal }),
        create: (ports) =>
          createSnapshotController(ports, {
            workers: flags.workerThreads,
            retryStartMs: flags.retryIntervalStartMs,
            retryMaxMs: flags.retryIntervalMaxMs,
            resyncMs: flags.resyncPeriodMs,
            distributed: flags.enableDistributedSnapshotting,
            preventVolumeModeConversion: flags.preventVolumeModeConversion,
            groups: flags.featureGates.CSIVolumeGroupSnapshot,
          }),
      },
      flags,
      context,
    );
  },
});

/** Rejects with what to install when the CRDs are not there in time. */
async function awaitDefinitions(
  kube: KubeClient,
  { withinMs, signal }: { withinMs: number; signal: AbortSignal },
): Promise<void> {
  const untilMs = realClock.monotonicMs() + withinMs;
  const kinds: Resource[] = [volumeSnapshots, volumeSnapshotContents, volumeSnapshotClasses];
  for (const resource of kinds) {
    for (;;) {
      try {
        await kube.list(resource, { limit: 1, signal });
        break;
      } catch (error) {
        signal.throwIfAborted();
        // Other errors (forbidden, unavailable) are reported and retried by the informers.
        if (!isNotFound(error)) return;
        if (realClock.monotonicMs() >= untilMs) {
          throw new Error(
            `${resource.plural}.${resource.group} is not installed: apply deploy/crds/snapshot.storage.k8s.io_*.yaml`,
            { cause: error },
          );
        }
      }
      await realClock.sleep(LOOK_MS, signal);
    }
  }
}
