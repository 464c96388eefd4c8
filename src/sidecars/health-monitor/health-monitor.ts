// The health monitor: asks the driver for the condition of its volumes, all at once with ListVolumes or one by one with
// ControllerGetVolume, and reports abnormal ones, and their end, as Events on the claims. Watches volumes and claims; writes
// Events only.

import { type PersistentVolume, persistentVolumeClaims, persistentVolumes } from '../../api/kinds.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { Controller } from '../../csi/generated/csi/v1/csi_pb.ts';
import type { ControllerCapability } from '../../csi/messages/capabilities.ts';
import { listVolumes } from '../common/list-volumes.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';
import { ClaimConditions } from './claim-conditions.ts';
import { watchNodes } from './watch-nodes.ts';

export interface HealthMonitorOptions {
  /** Of each call to the driver. */
  timeoutMs: number;
  listIntervalMs: number;
  checkIntervalMs: number;
  workers: number;
  watchesNodes: boolean;
}

export function reportsConditions(controller: ReadonlySet<ControllerCapability>): boolean {
  const canAsk = controller.has('LIST_VOLUMES') || controller.has('GET_VOLUME');
  return canAsk && controller.has('VOLUME_CONDITION');
}

export function createHealthMonitor(ports: SidecarPorts, options: HealthMonitorOptions): Sidecar {
  const { kube, informers, csi, driver, clock, log, recorder } = ports;
  if (!reportsConditions(driver.controller)) {
    throw new Error(
      `driver ${driver.name} does not report the condition of volumes: it needs VOLUME_CONDITION, and LIST_VOLUMES or GET_VOLUME`,
    );
  }
  const { timeoutMs } = options;
  const controller = csiClient(Controller, csi, { timeoutMs });
  const volumes = informers.of(persistentVolumes);
  const claims = informers.of(persistentVolumeClaims);
  const conditions = new ClaimConditions({ kube, recorder, driver: driver.name });
  const nodes = options.watchesNodes ? watchNodes(ports, { volumes }) : undefined;

  const isMonitored = ({ metadata, spec, status }: PersistentVolume): boolean =>
    spec.csi?.driver === driver.name && status?.phase === 'Bound' && metadata.deletionTimestamp === undefined;

  function claimOf({ spec: { claimRef } }: PersistentVolume) {
    const claim = claims.get(`${claimRef?.namespace ?? ''}/${claimRef?.name ?? ''}`);
    return claim?.metadata.uid === claimRef?.uid ? claim : undefined;
  }

  function report(
    volume: PersistentVolume,
    condition: { abnormal: boolean; message: string } | undefined,
  ): void {
    const claim = claimOf(volume);
    if (claim !== undefined && condition !== undefined) conditions.report(claim, condition);
  }

  async function listAll(signal: AbortSignal): Promise<void> {
    const byHandle = new Map<string, { abnormal: boolean; message: string }>();
    for await (const { volume, status } of listVolumes(csi, { timeoutMs, signal })) {
      if (volume && status?.volumeCondition) byHandle.set(volume.volumeId, status.volumeCondition);
    }
    for (const volume of volumes.list().filter(isMonitored)) {
      report(volume, byHandle.get(volume.spec.csi?.volumeHandle ?? ''));
    }
  }

  async function checkEach(signal: AbortSignal): Promise<void> {
    const waiting = volumes.list().filter(isMonitored).values();
    const worker = async (): Promise<void> => {
      for (const volume of waiting) {
        const volumeId = volume.spec.csi?.volumeHandle ?? '';
        try {
          const { status } = await controller.controllerGetVolume({ volumeId }, { signal });
          report(volume, status?.volumeCondition);
        } catch (error) {
          signal.throwIfAborted();
          log.warn('Could not read the condition of a volume', { volume: volume.metadata.name, err: error });
        }
      }
    };
    await Promise.all(Array.from({ length: options.workers }, worker));
  }

  async function monitor(signal: AbortSignal): Promise<void> {
    const isListing = driver.controller.has('LIST_VOLUMES');
    const intervalMs = isListing ? options.listIntervalMs : options.checkIntervalMs;
    log.info('Monitoring the condition of volumes', {
      by: isListing ? 'ListVolumes' : 'ControllerGetVolume',
    });
    while (!signal.aborted) {
      try {
        await (isListing ? listAll(signal) : checkEach(signal));
      } catch (error) {
        if (signal.aborted) return;
        log.warn('Could not read the conditions of volumes; trying again', { inMs: intervalMs, err: error });
      }
      await clock.sleep(intervalMs, signal).catch(() => {});
    }
  }

  return {
    async run(signal) {
      await Promise.all([volumes.synced(signal), claims.synced(signal)]);
      await conditions.recall(signal);
      await Promise.all([monitor(signal), nodes?.run(signal)]);
    },
  };
}
