// Creates the driver's CSIDriver object and creates it again when it is deleted; removes it at exit with
// `--remove-on-exit`. An existing object that differs is reported and not changed: the difference may be intended.

import { type CSIDriver, csiDrivers } from '../../api/kinds.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, requeueAfter } from '../../runtime/queue/loop.ts';
import { withDeadline } from '../../runtime/time/deadline.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';

export interface ClusterRegistrarOptions {
  podInfoOnMount: boolean;
  removeOnExit: boolean;
}

/** The official one's resync interval, in case an event was missed. */
const LOOK_AGAIN_MS = 120_000;
const REMOVE_WITHIN_MS = 5_000;

export function createClusterRegistrar(ports: SidecarPorts, options: ClusterRegistrarOptions): Sidecar {
  const { kube, informers, driver, clock, log } = ports;
  const { name } = driver;
  // Only this driver's object: the informer of a cluster with many drivers stays small.
  const objects = informers.of(csiDrivers, { fieldSelector: `metadata.name=${name}` });
  const wanted = {
    attachRequired: driver.controller.has('PUBLISH_UNPUBLISH_VOLUME'),
    podInfoOnMount: options.podInfoOnMount,
  };
  /** The UID of the object that we created or found as we wanted it: only that one is removed. */
  let ours: string | undefined;

  const loop = createLoop({
    ...ports,
    log,
    name: 'csi-cluster-registrar',
    async reconcile(_key, { signal }) {
      const found = objects.get(name);
      if (found === undefined) {
        try {
          const made = await kube.create(csiDrivers, { metadata: { name }, spec: wanted }, { signal });
          ours = made.metadata.uid;
          log.info('Created the CSIDriver object', { spec: wanted });
        } catch (error) {
          // The cache was stale: the watch event will come.
          if (!isAlreadyExists(error)) throw error;
        }
        return requeueAfter(LOOK_AGAIN_MS, 'it may be deleted');
      }
      const difference = differenceOf(found, wanted);
      ours = difference === undefined ? found.metadata.uid : undefined;
      if (difference !== undefined) {
        log.warn('The existing CSIDriver object differs; it is not changed', { difference });
      }
      return found.metadata.deletionTimestamp === undefined
        ? done
        : requeueAfter(1000, 'it is being deleted');
    },
  });

  async function remove(): Promise<void> {
    const uid = ours;
    if (uid === undefined) return;
    try {
      await withDeadline(
        { clock, delayMs: REMOVE_WITHIN_MS, reason: () => new Error('timed out') },
        (signal) => kube.delete(csiDrivers, { name }, { preconditions: { uid }, signal }),
      );
      log.info('Removed the CSIDriver object');
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return;
      log.error('Could not remove the CSIDriver object; remove it by hand', error);
    }
  }

  return {
    async run(signal) {
      await objects.synced(signal);
      const look = () => loop.add(name);
      const unsubscribe = objects.subscribe({ added: look, updated: look, deleted: look });
      look();
      try {
        await loop.run(signal);
      } finally {
        unsubscribe();
        if (options.removeOnExit) await remove();
      }
    },
  };
}

function differenceOf(
  { spec }: CSIDriver,
  wanted: { attachRequired: boolean; podInfoOnMount: boolean },
): string | undefined {
  const attachRequired = spec.attachRequired ?? true;
  const podInfoOnMount = spec.podInfoOnMount ?? false;
  const differences = [
    ...(attachRequired === wanted.attachRequired
      ? []
      : [`attachRequired is ${attachRequired}, the driver's capabilities say ${wanted.attachRequired}`]),
    ...(podInfoOnMount === wanted.podInfoOnMount
      ? []
      : [`podInfoOnMount is ${podInfoOnMount}, --pod-info-mount says ${wanted.podInfoOnMount}`]),
  ];
  return differences.length === 0 ? undefined : differences.join('; ');
}
