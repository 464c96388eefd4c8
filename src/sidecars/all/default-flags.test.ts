// The flags of the official sidecars and their defaults, which deployments rely on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FlagError, parseFlags } from '../../runtime/flags/parse-flags.ts';
import { attacherSidecar } from '../attacher/attacher-sidecar.ts';
import { clusterRegistrarSidecar } from '../cluster-registrar/cluster-registrar-sidecar.ts';
import { commonFlags } from '../common/common-flags.ts';
import { healthMonitorSidecar } from '../health-monitor/health-monitor-sidecar.ts';
import { provisionerSidecar } from '../provisioner/provisioner-sidecar.ts';
import { resizerSidecar } from '../resizer/resizer-sidecar.ts';
import { snapshotterSidecar } from '../snapshotter/snapshotter-sidecar.ts';
import type { AnySidecarKind } from './shared-flags.ts';

const retries = { retryIntervalStartMs: 1000, retryIntervalMaxMs: 300_000 };
const table: [AnySidecarKind, object][] = [
  [
    attacherSidecar,
    {
      timeoutMs: 15_000,
      workerThreads: 10,
      maxEntries: 0,
      ...retries,
      resyncMs: 600_000,
      reconcileSyncMs: 60_000,
      defaultFstype: '',
      maxGrpcLogLength: -1,
      featureGates: { ReleaseLeaderElectionOnExit: true, MutableCSINodeAllocatableCount: true },
    },
  ],
  [
    clusterRegistrarSidecar,
    {
      podInfoMount: false,
      removeOnExit: false,
      timeoutMs: 15_000,
      connectionTimeoutMs: undefined,
      featureGates: { ReleaseLeaderElectionOnExit: true },
    },
  ],
  [
    healthMonitorSidecar,
    {
      timeoutMs: 15_000,
      monitorIntervalMs: 60_000,
      listVolumesIntervalMs: 300_000,
      workerThreads: 10,
      enableNodeWatcher: false,
      resyncMs: 600_000,
      volumeListAddIntervalMs: 300_000,
      nodeListAddIntervalMs: 300_000,
      featureGates: { ReleaseLeaderElectionOnExit: true },
    },
  ],
  [
    provisionerSidecar,
    {
      timeoutMs: 10_000,
      workerThreads: 100,
      cloningProtectionThreads: 1,
      snapshotOrphanSweepIntervalMs: 300_000,
      ...retries,
      master: '',
      volumeNamePrefix: 'pvc',
      volumeNameUuidLength: -1,
      defaultFstype: '',
      extraCreateMetadata: false,
      controllerPublishReadonly: false,
      preventVolumeModeConversion: true,
      strictTopology: false,
      immediateTopology: true,
      immediatePreference: 'none',
      enableCapacity: false,
      capacityForImmediateBinding: false,
      capacityThreads: 1,
      capacityPollIntervalMs: 60_000,
      capacityOwnerrefLevel: 1,
      kubeApiCapacityQps: 1,
      kubeApiCapacityBurst: 5,
      nodeDeployment: false,
      nodeDeploymentImmediateBinding: true,
      nodeDeploymentBaseDelayMs: 20_000,
      nodeDeploymentMaxDelayMs: 60_000,
      featureGates: {
        ReleaseLeaderElectionOnExit: true,
        Topology: true,
        VolumeAttributesClass: true,
        CrossNamespaceVolumeDataSource: false,
      },
    },
  ],
  [
    resizerSidecar,
    {
      timeoutMs: 10_000,
      workers: 10,
      ...retries,
      resyncPeriodMs: 600_000,
      handleVolumeInuseError: true,
      extraModifyMetadata: false,
      master: '',
      featureGates: {
        ReleaseLeaderElectionOnExit: true,
        AnnotateFsResize: false,
        RecoverVolumeExpansionFailure: true,
        VolumeAttributesClass: true,
      },
    },
  ],
  [
    snapshotterSidecar,
    {
      timeoutMs: 60_000,
      workerThreads: 10,
      resyncPeriodMs: 900_000,
      ...retries,
      snapshotNamePrefix: 'snapshot',
      snapshotNameUuidLength: -1,
      extraCreateMetadata: false,
      groupsnapshotNamePrefix: 'groupsnapshot',
      groupsnapshotNameUuidLength: -1,
      nodeDeployment: false,
      featureGates: { ReleaseLeaderElectionOnExit: true, CSIVolumeGroupSnapshot: false },
    },
  ],
];
for (const [{ name, flags }, expected] of table) {
  test(`flags of the ${name} and their defaults`, () => {
    assert.deepEqual({ ...parseFlags({ table: flags, argv: [] }).values }, expected);
  });
}

const rejected: [AnySidecarKind, string[]][] = [
  [provisionerSidecar, ['--volume-name-prefix=']],
  [provisionerSidecar, ['--volume-name-uuid-length=33']],
  [provisionerSidecar, ['--immediate-preference=random']],
];
for (const [{ name, flags }, argv] of rejected) {
  test(`the ${name} rejects ${argv.join(' ')}`, () => {
    assert.throws(() => parseFlags({ table: flags, argv }), FlagError);
  });
}

test('flags that all sidecars have', () => {
  const { values } = parseFlags({ table: { ...commonFlags }, argv: ['--csi-address=/s'] });
  assert.deepEqual(
    { ...values },
    {
      csiAddress: '/s',
      kubeconfig: '',
      kubeApiQps: undefined,
      kubeApiBurst: undefined,
      httpEndpoint: '',
      metricsAddress: '',
      metricsPath: '/metrics',
      sharding: false,
      shardingLeaseDurationMs: 1_500,
      enablePprof: false,
      leaderElection: false,
      leaderElectionNamespace: '',
      leaderElectionLeaseDurationMs: 15_000,
      leaderElectionRenewDeadlineMs: 10_000,
      leaderElectionRetryPeriodMs: 5_000,
      leaderElectionLabels: {},
      automaxprocs: false,
    },
  );
});
