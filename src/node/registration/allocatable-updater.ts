// Keeps `allocatable.count` in CSINode current: calls NodeGetInfo at the interval of CSIDriver's
// `nodeAllocatableUpdatePeriodSeconds`, and when asked to. Changes nothing but the count.

import type { CSIDriver } from '../../api/kinds.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { Node } from '../../csi/generated/csi/v1/csi_pb.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { createLoop, type LoopPorts } from '../../runtime/queue/create-loop.ts';
import { done, type Loop, type Outcome, requeueAfter } from '../../runtime/queue/loop.ts';
import type { DriverRegistry } from './driver-registry.ts';
import { maxVolumesOf } from './handshake.ts';
import type { NodeInfoWriter } from './node-info-writer.ts';

const TIMEOUT_MS = 30_000;

export interface AllocatableUpdater {
  /** Calls the driver now. Resolves even if the call fails. */
  ask(driver: DriverName, signal: AbortSignal): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

export function createAllocatableUpdater(
  ports: LoopPorts & {
    registry: DriverRegistry;
    csiDrivers: Informer<CSIDriver>;
    writer: NodeInfoWriter;
  },
): AllocatableUpdater {
  const { registry, csiDrivers, writer, clock, log } = ports;
  const askedAtMs = new Map<string, number>();

  const loop: Loop = createLoop({
    ...ports,
    log,
    name: 'csi-allocatable',
    reconcile: (driver, { signal }) => reconcile(driver as DriverName, signal),
  });

  async function reconcile(name: DriverName, signal: AbortSignal): Promise<Outcome> {
    const periodMs = (csiDrivers.get(name)?.spec.nodeAllocatableUpdatePeriodSeconds ?? 0) * 1000;
    if (periodMs <= 0 || !registry.get(name)) {
      askedAtMs.delete(name);
      return done;
    }
    // The registration has just called it.
    const lastMs = askedAtMs.get(name) ?? clock.monotonicMs();
    askedAtMs.set(name, lastMs);
    const waitMs = lastMs + periodMs - clock.monotonicMs();
    if (waitMs > 0) return requeueAfter(waitMs, 'the next update of the volume limit');
    askedAtMs.set(name, clock.monotonicMs());
    await ask(name, signal);
    return requeueAfter(periodMs, 'the next update of the volume limit');
  }

  async function ask(name: DriverName, signal: AbortSignal): Promise<void> {
    const driver = registry.get(name);
    if (!driver) return;
    try {
      const node = csiClient(Node, driver.transport, { timeoutMs: TIMEOUT_MS });
      const info = await node.nodeGetInfo({}, { signal });
      signal.throwIfAborted();
      // Node ID and topology only change by registration.
      if (info.nodeId === driver.facts.nodeId && registry.get(name) === driver)
        await writer.setMaxVolumes(name, maxVolumesOf(info), signal);
    } catch (error) {
      signal.throwIfAborted();
      log.warn('could not update the volume limit; retrying at the next interval', {
        driver: name,
        err: error,
      });
    }
  }

  return {
    ask,
    async run(signal) {
      const add = (driver: CSIDriver) => loop.add(driver.metadata.name);
      const stops = [
        registry.subscribe((name) => {
          askedAtMs.delete(name);
          loop.add(name);
        }),
        csiDrivers.subscribe({ added: add, updated: (_before, driver) => add(driver) }),
      ];
      try {
        await loop.run(signal);
      } finally {
        for (const stop of stops) stop();
      }
    },
  };
}
