// The provisioner: creates volumes for claims and deletes released volumes. Composes its loops; the file of each loop
// says what it watches and writes.

import type { PersistentVolume } from '../../api/kinds.ts';
import { matchesNodeSelectorTerms } from '../../api/selectors.ts';
import type { Segment } from '../../api/topology.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { Node as NodeService } from '../../csi/generated/csi/v1/csi_pb.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { LeaseLedger } from '../../runtime/leases/lease-ledger.ts';
import type { Loop } from '../../runtime/queue/loop.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';
import { startCapacity } from './capacity/start-capacity.ts';
import { Attempts } from './claims/attempts.ts';
import { createClaimReconciler } from './claims/claim-reconciler.ts';
import { volumeCalls } from './claims/volume-calls.ts';
import { createVolumePlanner } from './claims/volume-planner.ts';
import { attemptKey, type Intent } from './intents/intent.ts';
import { ledgerFormat, ledgerName } from './intents/ledger-lease.ts';
import { createNodeOwner } from './node-deployment/node-owner.ts';
import { provisionerMetrics } from './provisioner-metrics.ts';
import type { ProvisionerOptions } from './provisioner-options.ts';
import { createCloneProtection, indexPendingBySource } from './sources/clone-protection.ts';
import { createSnapshotProtection } from './sources/snapshot-protection.ts';
import { feedTopology } from './topology/topology-feed.ts';
import { TopologyIndex } from './topology/topology-index.ts';
import { createVolumeReconciler } from './volumes/volume-reconciler.ts';
import { indexByHandle } from './volumes/volume-use.ts';

export interface ProvisionerPorts extends SidecarPorts {
  /** For published capacity, so that it never slows down the rest; `kube` by default. */
  capacityKube?: KubeClient;
}

export function createProvisioner(ports: ProvisionerPorts, options: ProvisionerOptions): Sidecar {
  const { kube, informers, csi, driver, recorder, clock, random, log } = ports;
  const metrics = provisionerMetrics(ports.metrics);
  const calls = volumeCalls(csi, options);
  const withTopology = options.topology && driver.plugin.services.has('VOLUME_ACCESSIBILITY_CONSTRAINTS');
  const topology = withTopology ? new TopologyIndex() : undefined;
  if (topology) feedTopology(topology, informers, driver.name);

  const backoff = { startMs: options.retryStartMs, maxMs: options.retryMaxMs };
  const loop = { clock, random, log, metrics: ports.metrics, backoff, workers: options.workers };
  const naming = { prefix: options.volumeNamePrefix, uuidLength: options.volumeNameUuidLength };
  const { nodeDeployment } = options;
  const node =
    nodeDeployment &&
    createNodeOwner({
      name: nodeDeployment.nodeName,
      takesImmediate: nodeDeployment.immediateBinding,
      baseDelayMs: nodeDeployment.baseDelayMs,
      maxDelayMs: nodeDeployment.maxDelayMs,
      csi,
      timeoutMs: options.timeoutMs,
      clock,
      random,
    });
  /** The topology of this node, once the driver has returned it; with one provisioner per node. */
  let here: Segment | undefined;

  const capacity =
    options.capacity &&
    startCapacity({
      ports: { ...ports, kube: ports.capacityKube ?? kube },
      options: options.capacity,
      timeoutMs: options.timeoutMs,
      backoff,
      topology,
      nodeName: nodeDeployment?.nodeName,
    });
  const capacityChanged = (className: string): void => capacity?.changed(className);

  const byHandle = indexByHandle(informers, driver.name);
  const pendingFrom = indexPendingBySource(informers);
  const snapshots = createSnapshotProtection({
    kube,
    clock,
    log,
    pendingFrom,
    sweepIntervalMs: driver.controller.has('CREATE_DELETE_SNAPSHOT') ? options.snapshotSweepIntervalMs : 0,
  });
  const ledgerAt = { namespace: options.namespace, name: ledgerName(driver.name, nodeDeployment?.nodeName) };
  const ledger = new LeaseLedger<Intent>({
    kube,
    clock,
    log,
    name: ledgerAt,
    format: ledgerFormat(driver.name, ledgerAt),
    unusable: 'Intents cannot be kept in a Lease; each is kept on its claim, with a finalizer',
    found: (intent) => claimLoop.add(attemptKey(intent)),
  });
  const claimLoop: Loop = createClaimReconciler({
    informers,
    naming,
    node,
    loop,
    work: {
      driver: driver.name,
      withTopology,
      kube,
      clock,
      log,
      recorder,
      metrics,
      calls,
      ledger,
      attempts: new Attempts({ informers, byHandle, driver: driver.name, clock }),
      capacityChanged,
      releaseSource: (claim, signal) => snapshots.releaseSourceOf(claim, signal),
      planner: createVolumePlanner({
        kube,
        log,
        informers,
        random,
        topology,
        driver: driver.name,
        capabilities: driver.controller,
        preventVolumeModeConversion: options.preventVolumeModeConversion,
        options: {
          volumeAttributesClasses: options.volumeAttributesClasses,
          topology: {
            strict: options.strictTopology,
            immediate: options.immediateTopology,
            preferImmediate: options.immediatePreference,
          },
          planning: {
            naming,
            defaultFsType: options.defaultFsType,
            extraCreateMetadata: options.extraCreateMetadata,
            controllerPublishReadOnly: options.controllerPublishReadOnly,
            singleNodeMultiWriter: driver.controller.has('SINGLE_NODE_MULTI_WRITER'),
          },
        },
      }),
    },
  });
  const volumeLoop = createVolumeReconciler({
    driver: driver.name,
    kube,
    informers,
    byHandle,
    recorder,
    calls,
    clock,
    log,
    metrics,
    attaches: driver.controller.has('PUBLISH_UNPUBLISH_VOLUME'),
    isLocal: (volume) => here === undefined || isReachable(volume, here),
    capacityChanged,
    loop,
  });
  const clones = driver.controller.has('CLONE_VOLUME')
    ? createCloneProtection({ kube, informers, loop: { ...loop, workers: options.cloningProtectionWorkers } })
    : undefined;

  return {
    async run(signal) {
      if (nodeDeployment) {
        const nodes = csiClient(NodeService, csi, { timeoutMs: options.timeoutMs });
        const info = await nodes.nodeGetInfo({}, { signal });
        here = info.accessibleTopology?.segments;
      }
      await informers.synced(signal);
      await ledger.open(signal);
      await Promise.all([
        ledger.run(signal),
        claimLoop.run(signal),
        volumeLoop.run(signal),
        clones?.run(signal),
        snapshots.run(signal),
        capacity?.run(here, signal),
      ]);
    },
  };
}

function isReachable(volume: PersistentVolume, segment: Segment): boolean {
  const required = volume.spec.nodeAffinity?.required;
  if (!required) return true;
  return matchesNodeSelectorTerms(required.nodeSelectorTerms, {
    metadata: { name: '', labels: { ...segment } },
  });
}
