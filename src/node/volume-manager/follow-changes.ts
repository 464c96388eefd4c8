// What wakes the volume manager: changes of pods, of the Node's `volumesAttached` and labels, of CSIDriver objects, and
// registrations of drivers. Decides only which volumes and pods are looked at again.

import type { CSIDriver, Node, Pod } from '../../api/kinds.ts';
import { sameJson } from '../../api/same-json.ts';
import { uniqueVolumeName } from '../../api/volumes.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { ActualState } from './actual-state.ts';
import type { DesiredState } from './desired-state.ts';
import type { Populator } from './populator.ts';
import type { Reconciler } from './reconciler.ts';
import type { VolumeManagerPorts } from './volume-manager.ts';

interface FollowInit extends Pick<VolumeManagerPorts, 'pods' | 'node' | 'csiDrivers' | 'registry'> {
  desired: DesiredState;
  actual: ActualState;
  reconciler: Pick<Reconciler, 'retry'>;
  populator: Pick<Populator, 'retry'>;
  podSeen(pod: Pod): void;
  registered(driver: DriverName): void;
}

/** Returns the function that unsubscribes. */
export function followChanges(init: FollowInit): () => void {
  const { pods, node, csiDrivers, registry, desired, actual, reconciler, populator } = init;
  const driverChanged = (driver: DriverName) => {
    const prefix = uniqueVolumeName(driver, '');
    for (const key of new Set([...desired.volumeKeys(), ...actual.keys()])) {
      if (key.startsWith(prefix)) reconciler.retry(key);
    }
  };
  const objectChanged = (driver: CSIDriver) => {
    driverChanged(driver.metadata.name as DriverName);
    for (const { pod, resolved } of desired.pods()) if (!resolved) populator.retry(pod.metadata.uid);
  };
  /** The node may match a volume's affinity now. */
  const labelsChanged = () => {
    for (const key of desired.volumeKeys()) {
      const mounts = [...desired.mountsOf(key).values()];
      if (mounts.some(({ volume }) => volume.requiredNodes)) reconciler.retry(key);
    }
  };
  const attachedOf = ({ status }: Node) => new Set((status?.volumesAttached ?? []).map(({ name }) => name));
  const stops = [
    pods.subscribe({ added: init.podSeen, updated: (_before, pod) => init.podSeen(pod) }),
    registry.subscribe((name) => {
      driverChanged(name);
      if (registry.get(name)) init.registered(name);
    }),
    csiDrivers.subscribe({
      added: objectChanged,
      updated: (_before, driver) => objectChanged(driver),
      deleted: objectChanged,
    }),
    node.subscribe({
      updated(before, after) {
        if (!sameJson(before.metadata.labels, after.metadata.labels)) labelsChanged();
        const known = attachedOf(before);
        for (const key of attachedOf(after)) if (!known.has(key)) reconciler.retry(key);
      },
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
