// Finds published mounts that died or vanished (a restarted FUSE daemon, a manual unmount) and marks them uncertain, so
// that they are set up again. Checks when a driver registers again, and every minute.

import type { DriverName } from '../../csi/names/driver-name.ts';
import type { MountPorts } from '../../csi-plugin/mount/mount-plugin.ts';
import { volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import type { Log } from '../../runtime/ports.ts';
import type { ActualState, ActualVolume } from './actual-state.ts';

/** Between two checks of all mounts. A check costs one stat per mount. */
export const HEALTH_PERIOD_MS = 60_000;

export interface MountHealth {
  /** Checks the volumes of one driver, or of all. Never runs twice at once: a stat on a dead server may hang. */
  check(signal: AbortSignal, driver?: DriverName): Promise<void>;
}

export function createMountHealth(ports: {
  plugin: MountPorts;
  actual: ActualState;
  log: Log;
  /** This volume must be set up again. */
  found(volumeKey: string): void;
}): MountHealth {
  const { plugin, actual, log } = ports;
  let isRunning = false;

  async function checkVolume(entry: ActualVolume): Promise<boolean> {
    const { volume } = entry;
    const staging = plugin.paths.device(volume).staging;
    if (entry.device === 'mounted' && (await plugin.mounter.inspect(staging)) === 'corrupted') {
      log.warn('a staged volume is dead and will be staged again', {
        volume: volumeKeyOf(volume),
        path: staging,
      });
      entry.device = 'uncertain';
      for (const mount of entry.mounts.values()) mount.state = 'uncertain';
      return false;
    }
    let isHealthy = true;
    for (const mount of [...entry.mounts.values()]) {
      if (mount.state !== 'mounted') continue;
      const state = await plugin.mounter.inspect(mount.path);
      if (state === 'mounted') continue;
      if (volume.block && state === 'plain' && (await plugin.files.kindOf(mount.path)) === 'device') continue;
      // An operation that started meanwhile sets the state itself.
      if (mount.state !== 'mounted') continue;
      log.warn('a published volume is gone or dead and will be published again', {
        volume: volumeKeyOf(volume),
        path: mount.path,
        found: state,
      });
      mount.state = 'uncertain';
      isHealthy = false;
    }
    return isHealthy;
  }

  return {
    async check(signal, driver) {
      if (isRunning) return;
      isRunning = true;
      try {
        for (const entry of [...actual.values()]) {
          signal.throwIfAborted();
          if (driver !== undefined && entry.volume.driver !== driver) continue;
          if (!(await checkVolume(entry))) ports.found(volumeKeyOf(entry.volume));
        }
      } finally {
        isRunning = false;
      }
    },
  };
}
