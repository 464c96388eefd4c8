// Performs one step on one volume through the plugin and records in the actual state what is then known. A call that
// ended without a clear answer leaves the volume uncertain; one that certainly did nothing leaves nothing behind.

import type { CSIDriver } from '../../api/kinds.ts';
import { isFinal, outcomeOf } from '../../csi/outcome.ts';
import { expandVolume } from '../../csi-plugin/mount/expand-volume.ts';
import { mountDevice, needsStaging } from '../../csi-plugin/mount/mount-device.ts';
import { MountMissingError, type MountPorts, type NodeDriver } from '../../csi-plugin/mount/mount-plugin.ts';
import { volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import { setUp } from '../../csi-plugin/mount/set-up.ts';
import { removeMount, tearDown } from '../../csi-plugin/mount/tear-down.ts';
import { removeDevice, unmountDevice } from '../../csi-plugin/mount/unmount-device.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { ActualMount, ActualState } from './actual-state.ts';
import type { Step } from './decide-volume.ts';
import { type DesiredMount, type DesiredState, mountKey } from './desired-state.ts';
import { finishExpansion } from './finish-expansion.ts';
import type { VolumesInUse } from './volumes-in-use.ts';
import { isAttachable, waitForAttach } from './wait-for-attach.ts';

/** The driver is not on this node (now). */
export class DriverMissingError extends Error {
  override readonly name = 'DriverMissingError';
}

/** The pod went while its volume was being prepared; nothing was asked of the driver. */
export class NoLongerWantedError extends Error {
  override readonly name = 'NoLongerWantedError';
}

export interface OperationPorts {
  plugin: MountPorts;
  kube: KubeClient;
  nodeName: string;
  clock: Clock;
  desired: DesiredState;
  actual: ActualState;
  inUse: VolumesInUse;
  recorder: EventRecorder;
  /** What the claim of a volume has, when nothing is under way. */
  settledSize(mount: DesiredMount): string | undefined;
  driver(name: string): NodeDriver | undefined;
  driverNames(): readonly string[];
  driverObject(name: string): CSIDriver | undefined;
}

export type Perform = (
  step: Exclude<Step, { kind: 'wait-for-pod' }>,
  volumeKey: string,
  signal: AbortSignal,
) => Promise<void>;

export function createOperations(ports: OperationPorts): Perform {
  const { plugin, desired, actual, inUse } = ports;

  function requireDriver(name: string): NodeDriver {
    const driver = ports.driver(name);
    if (driver) return driver;
    const others = ports.driverNames();
    throw new DriverMissingError(
      `driver ${name} is not registered on node ${ports.nodeName} (registered: ${others.join(', ') || 'none'}); ` +
        'waiting for its registration socket',
    );
  }

  function requireWanted({ pod, volume }: DesiredMount): void {
    if (desired.mountsOf(volumeKeyOf(volume)).has(mountKey(pod.metadata.uid, volume.specName))) return;
    throw new NoLongerWantedError(
      `pod ${pod.metadata.namespace}/${pod.metadata.name} no longer needs ${volume.specName}`,
    );
  }

  /** In this order: once the volume is reported in use nobody detaches it, so an attachment seen after that stays. */
  async function attachedContext({ volume }: DesiredMount, signal: AbortSignal) {
    if (!isAttachable(volume, ports.driverObject(volume.driver))) return {};
    await inUse.ensure(volumeKeyOf(volume), signal);
    return await waitForAttach(ports, volume, signal);
  }

  async function doMountDevice(mount: DesiredMount, signal: AbortSignal): Promise<void> {
    const { volume } = mount;
    const driver = requireDriver(volume.driver);
    const publishContext = await attachedContext(mount, signal);
    if (!needsStaging(driver, volume)) {
      requireWanted(mount);
      actual.setDevice(volume, 'mounted');
      return;
    }
    await clearStaleDevice(mount, driver, signal);
    const before = actual.get(volumeKeyOf(volume))?.device ?? 'unmounted';
    let begun = false;
    const begins = () => {
      requireWanted(mount);
      begun = true;
      actual.setDevice(volume, 'uncertain');
    };
    try {
      await mountDevice(plugin, { volume, driver, publishContext, begins }, signal);
      signal.throwIfAborted();
      actual.setDevice(volume, 'mounted');
    } catch (error) {
      signal.throwIfAborted();
      if (before === 'unmounted' && (!begun || isFinal(outcomeOf('NodeStageVolume', error)))) {
        await quietly(async () => {
          await removeDevice(plugin, volume);
          actual.setDevice(volume, 'unmounted');
        });
      }
      throw error;
    }
  }

  /** A staged filesystem that died takes everything that was published from it along: all of it is made anew. */
  async function clearStaleDevice(
    { volume }: DesiredMount,
    driver: NodeDriver,
    signal: AbortSignal,
  ): Promise<void> {
    if ((await plugin.mounter.inspect(plugin.paths.device(volume).staging)) !== 'corrupted') return;
    for (const mount of [...(actual.get(volumeKeyOf(volume))?.mounts.values() ?? [])]) {
      await doTearDown(mount, signal);
    }
    await unmountDevice(plugin, { volume, driver }, signal);
    signal.throwIfAborted();
    actual.setDevice(volume, 'unmounted');
  }

  async function doSetUp(mount: DesiredMount, again: boolean, signal: AbortSignal): Promise<void> {
    const { pod, volume, readOnly } = mount;
    const podUid = pod.metadata.uid;
    const driver = requireDriver(volume.driver);
    const driverObject = ports.driverObject(volume.driver);
    const publishContext = await attachedContext(mount, signal);
    const { target } = plugin.paths.mount(podUid, volume);
    const before = actual.mount(volumeKeyOf(volume), podUid, volume.specName);
    if (before && !again && (await plugin.mounter.inspect(target)) === 'corrupted')
      await doTearDown(before, signal);
    let begun = false;
    const entry = { podUid, volume, path: target, readOnly };
    const begins = () => {
      requireWanted(mount);
      begun = true;
      if (!again) actual.setMount({ ...entry, state: 'uncertain' });
    };
    try {
      await setUp(
        plugin,
        { pod, volume, readOnly, driver, driverObject, publishContext, again, begins },
        signal,
      );
      signal.throwIfAborted();
      actual.setMount({ ...entry, state: 'mounted', publishedAtMs: ports.clock.monotonicMs() });
      const known = actual.get(volumeKeyOf(volume));
      if (known) known.size ??= ports.settledSize(mount);
    } catch (error) {
      signal.throwIfAborted();
      const isOver =
        !begun || (!(error instanceof MountMissingError) && isFinal(outcomeOf('NodePublishVolume', error)));
      if (before === undefined && isOver) {
        await quietly(async () => {
          await removeMount(plugin, podUid, volume);
          actual.removeMount(volume, podUid);
        });
      }
      throw error;
    }
  }

  async function doTearDown(mount: ActualMount, signal: AbortSignal): Promise<void> {
    const driver = requireDriver(mount.volume.driver);
    actual.setMount({ ...mount, state: 'uncertain' });
    await tearDown(plugin, { podUid: mount.podUid, volume: mount.volume, driver }, signal);
    signal.throwIfAborted();
    actual.removeMount(mount.volume, mount.podUid);
  }

  async function doUnmountDevice(volumeKey: string, signal: AbortSignal): Promise<void> {
    const known = actual.get(volumeKey);
    if (!known) return;
    const driver = requireDriver(known.volume.driver);
    actual.setDevice(known.volume, 'uncertain');
    await unmountDevice(plugin, { volume: known.volume, driver }, signal);
    signal.throwIfAborted();
    actual.setDevice(known.volume, 'unmounted');
  }

  async function doExpand(mount: DesiredMount, wanted: string, signal: AbortSignal): Promise<void> {
    const { volume, pod } = mount;
    const driver = requireDriver(volume.driver);
    const context = { kube: ports.kube, nowMs: ports.clock.now(), signal };
    const expanded = await finishExpansion(context, mount, async (capacity) => {
      // A driver without the capability has nothing to do on the node, and the claim is as large as its volume.
      if (!driver.capabilities.has('EXPAND_VOLUME')) return;
      await expandVolume(plugin, { volume, driver, podUid: pod.metadata.uid, capacity }, signal);
    });
    const entry = actual.get(volumeKeyOf(volume));
    if (entry) {
      entry.expandedTo = wanted;
      entry.size = expanded?.capacity ?? wanted;
    }
    if (!expanded) return;
    const text = `Volume ${volume.specName} has ${expanded.capacity} on node ${ports.nodeName}`;
    for (const subject of [pod, expanded.claim]) {
      ports.recorder.event(subject, 'Normal', 'FileSystemResizeSuccessful', text);
    }
  }

  return async (step, volumeKey, signal) => {
    switch (step.kind) {
      case 'tear-down':
        return doTearDown(step.mount, signal);
      case 'unmount-device':
        return doUnmountDevice(volumeKey, signal);
      case 'mount-device':
        return doMountDevice(step.mount, signal);
      case 'set-up':
        return doSetUp(step.mount, step.again, signal);
      case 'expand':
        return doExpand(step.mount, step.capacity, signal);
    }
  };
}

/** Tidying after a failure: if it fails too, the volume simply stays uncertain and is torn down like one that is there. */
async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch {
    // The first error is the one worth telling.
  }
}
