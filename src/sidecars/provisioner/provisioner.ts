// The provisioner: creates volumes for claims and deletes released volumes. Composes its loops; the file of each loop
// says what it watches and writes.

import { affinityAdmits } from '../../api/selectors.ts';
import type { Segment } from '../../api/topology.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { Node as NodeService } from '../../csi/generated/csi/v1/csi_pb.ts';
import { runWhole } from '../../runtime/sharding/run-whole.ts';
import { requiredVariable, type Sidecar } from '../common/sidecar.ts';
import { createCapacityPublisher } from './capacity/capacity-publisher.ts';
import { createClaimReconciler } from './claims/claim-reconciler.ts';
import { volumeCalls } from './claims/volume-calls.ts';
import type { ProvisionerContext, ProvisionerPorts } from './provisioner-context.ts';
import type { ProvisionerFlags } from './provisioner-flags.ts';
import { provisionerMetrics } from './provisioner-metrics.ts';
import {
  createCloneProtection,
  indexPendingBySource,
  type PendingBySource,
} from './sources/clone-protection.ts';
import { sourceKeyOf } from './sources/data-source.ts';
import { watchGrants } from './sources/reference-grants.ts';
import { createSnapshotProtection } from './sources/snapshot-protection.ts';
import { watchTopology } from './topology/watch-topology.ts';
import { createVolumeReconciler } from './volumes/volume-reconciler.ts';
import { indexByHandle } from './volumes/volume-use.ts';

export function createProvisioner(ports: ProvisionerPorts, flags: ProvisionerFlags): Sidecar {
  const { informers, csi, driver, clock, random, log, metrics } = ports;
  const hasTopology =
    flags.featureGates.Topology && driver.plugin.services.has('VOLUME_ACCESSIBILITY_CONSTRAINTS');
  const backoff = { startMs: flags.retryIntervalStartMs, maxMs: flags.retryIntervalMaxMs };
  const context: ProvisionerContext = {
    ...ports,
    flags,
    nodeName: flags.nodeDeployment
      ? requiredVariable(ports.env, 'NODE_NAME', '--node-deployment')
      : undefined,
    topology: hasTopology ? watchTopology(informers, driver.name) : undefined,
    calls: volumeCalls(csi, flags),
    byHandle: indexByHandle(informers, driver.name),
    grants: watchGrants(informers, flags),
    results: provisionerMetrics(metrics),
    loop: { clock, random, log, metrics, backoff, workers: flags.workerThreads },
    capacityChanged: (className) => capacity?.changed(className),
  };
  const capacity = flags.enableCapacity ? createCapacityPublisher(context) : undefined;
  /** The topology of this node, once the driver has returned it; with one provisioner per node. */
  let here: Segment | undefined;
  const waitingFrom = indexPendingBySource(context);
  // What was begun for a claim that is gone is cleaned up by the same call, which needs the source once more.
  const pendingFrom: PendingBySource = (source) => [...waitingFrom(source), ...claims.openFrom(source)];
  const snapshots = createSnapshotProtection(context, pendingFrom);
  const claims = createClaimReconciler(context, (claim) => {
    const source = sourceKeyOf(claim);
    // The last one that is pending looks at it.
    if (source === undefined || pendingFrom(source).length > 0) return;
    clones?.lookAtSourceOf(claim);
    snapshots.lookAtSourceOf(claim);
  });
  const volumes = createVolumeReconciler(
    context,
    (volume) => here === undefined || affinityAdmits(volume, { metadata: { name: '', labels: { ...here } } }),
  );
  const clones = driver.controller.has('CLONE_VOLUME')
    ? createCloneProtection(context, pendingFrom)
    : undefined;

  const whole = (
    name: string,
    work: (signal: AbortSignal) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<unknown> =>
    ports.shares ? runWhole({ shares: ports.shares, name, clock }, work, signal) : work(signal);

  return {
    async run(signal) {
      if (flags.nodeDeployment) {
        const nodes = csiClient(NodeService, csi, { timeoutMs: flags.timeoutMs });
        const info = await nodes.nodeGetInfo({}, { signal });
        here = info.accessibleTopology?.segments;
      }
      await informers.synced(signal);
      await claims.open(signal);
      await Promise.all([
        claims.run(signal),
        volumes.run(signal),
        clones?.run(signal),
        snapshots.run(signal),
        whole('snapshot-sweep', (ours) => snapshots.runSweep(ours), signal),
        capacity && whole('capacity', (ours) => capacity.run(here, ours), signal),
      ]);
    },
  };
}
