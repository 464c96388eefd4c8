// The driver's name and capabilities, read once at the start, after its Probe succeeds. Waits for a driver that is not
// reachable yet; fails when the driver does not return its name or capabilities.

import { getDriverName, probeUntilReady } from '../../csi/client/probe.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import { codeOf } from '../../csi/csi-error.ts';
import {
  type ControllerCapability,
  controllerCapabilities,
  type GroupControllerCapability,
  groupControllerCapabilities,
  type PluginCapabilities,
  pluginCapabilities,
} from '../../csi/messages/capabilities.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { Clock, Log } from '../../runtime/ports.ts';

const ASK_AGAIN_MS = 1_000;

export interface Driver {
  readonly name: DriverName;
  readonly plugin: PluginCapabilities;
  /** Empty when the driver has no controller service. */
  readonly controller: ReadonlySet<ControllerCapability>;
  /** Empty when the driver has no group controller service. */
  readonly group: ReadonlySet<GroupControllerCapability>;
}

export interface IdentifyOptions {
  clock: Clock;
  log: Log;
  timeoutMs: number;
  signal: AbortSignal;
}

export async function identifyDriver(csi: CsiTransport, options: IdentifyOptions): Promise<Driver> {
  const { clock, log, signal } = options;
  for (;;) {
    await probeUntilReady(csi, options);
    try {
      return await askDriver(csi, options);
    } catch (error) {
      signal.throwIfAborted();
      if (codeOf(error) !== 'UNAVAILABLE') throw error;
      log.warn('Lost the driver while identifying it; waiting for it', { error });
    }
    await clock.sleep(ASK_AGAIN_MS, signal);
  }
}

/** The same calls without waiting: errors of the calls are thrown. */
export async function askDriver(
  csi: CsiTransport,
  { timeoutMs, signal }: Pick<IdentifyOptions, 'timeoutMs' | 'signal'>,
): Promise<Driver> {
  const call = { timeoutMs, signal };
  const name = await getDriverName(csi, call);
  const plugin = await pluginCapabilities(csi, call);
  const controller = plugin.services.has('CONTROLLER_SERVICE')
    ? await controllerCapabilities(csi, call)
    : new Set<ControllerCapability>();
  const group = plugin.services.has('GROUP_CONTROLLER_SERVICE')
    ? await groupControllerCapabilities(csi, call)
    : new Set<GroupControllerCapability>();
  return { name, plugin, controller, group };
}

/** How `now` differs from `before`, for an error message; undefined when it is the same driver. */
export function driverDifference(before: Driver, now: Driver): string | undefined {
  if (now.name !== before.name) return `its name is now ${now.name}, it was ${before.name}`;
  const changes = [
    ...changesOf(before.plugin.services, now.plugin.services),
    ...changesOf(before.plugin.volumeExpansion, now.plugin.volumeExpansion),
    ...changesOf(before.controller, now.controller),
    ...changesOf(before.group, now.group),
  ];
  return changes.length === 0 ? undefined : `its capabilities changed: ${changes.join(', ')}`;
}

function changesOf(before: ReadonlySet<string>, now: ReadonlySet<string>): string[] {
  return [
    ...[...now].filter((name) => !before.has(name)).map((name) => `${name} is new`),
    ...[...before].filter((name) => !now.has(name)).map((name) => `${name} is gone`),
  ];
}
