// Performs one step on one volume through the plugin and updates the actual state. A call that ended without a definite
// answer leaves the volume uncertain; after a definite failure its directories and records are removed.

import type { CSIDriver, Node } from '../../api/kinds.ts';
import { compareQuantities } from '../../api/quantity.ts';
import { isFinal, outcomeOf } from '../../csi/outcome.ts';
import { expandVolume } from '../../csi-plugin/mount/expand-volume.ts';
import { mountDevice, needsStaging } from '../../csi-plugin/mount/mount-device.ts';
import { MountMissingError, type MountPorts, type NodeDriver } from '../../csi-plugin/mount/mount-plugin.ts';
import { volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import { setUp } from '../../csi-plugin/mount/set-up.ts';
import { removeMount, tearDown } from '../../csi-plugin/mount/tear-down.ts';
import { removeDevice, unmountDevice } from '../../csi-plugin/mount/unmount-device.ts';
import type { KnownVolume } from '../../csi-plugin/mount/volume-record.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { ActualMount, ActualState } from './actual-state.ts';
import type { Step } from './decide-volume.ts';
import { type DesiredMount, type DesiredState, mountKey } from './desired-state.ts';
import { finishExpansion } from './finish-expansion.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import type { MountStep } from './operation-events.ts';
import { type AttachmentAnswer, isAttachable, readAttachment } from './read-attachment.ts';
import type { VolumesInUse } from './volumes-in-use.ts';

/** The pod or its volumesInUse entry was removed during preparation; the driver was not called. */
export class NoLongerWantedError extends Error {
  override readonly name = 'NoLongerWantedError';
}

export interface OperationPorts {
  plugin: MountPorts;
  kube: KubeClient;
  nodeName: string;
  node: Informer<Node>;
  clock: Clock;
  desired: DesiredState;
  actual: ActualState;
  inUse: VolumesInUse;
  recorder: EventRecorder;
  /** The capacity of the mount's claim, when no expansion is in progress. */
  settledSize(mount: DesiredMount): string | undefined;
  driver(name: string): NodeDriver | undefined;
  driverNames(): readonly string[];
  driverObject(name: string): CSIDriver | undefined;
}

/** The result of a step that did not fail. */
export type Performed =
  | { kind: 'done' }
  /** Not started: the driver is not registered on this node. */
  | { kind: 'no-driver'; why: string }
  /** Not started: the node does not match the PersistentVolume's node affinity. */
  | { kind: 'wrong-node'; why: string }
  /** Not started: the volume is not attached yet. */
  | Exclude<AttachmentAnswer, { kind: 'attached' }>;

export type Perform = (step: MountStep, volumeKey: string, signal: AbortSignal) => Promise<Performed>;

const DONE: Performed = { kind: 'done' };

/** The inputs of stage and publish, besides the mount itself. */
interface Attached {
  driver: NodeDriver;
  publishContext: Readonly<Record<string, string>>;
}

export function createOperations(ports: OperationPorts): Perform {
  const { plugin, desired, actual, inUse } = ports;

  function noDriver(name: string): Performed {
    const others = ports.driverNames().join(', ') || 'none';
    const why =
      `driver ${name} is not registered on node ${ports.nodeName} (registered: ${others}); ` +
      'waiting for its registration socket';
    return { kind: 'no-driver', why };
  }

  function wrongNode({ volume }: DesiredMount): Performed {
    const why =
      `node ${ports.nodeName} does not match the node affinity of PersistentVolume ${volume.specName}; ` +
      'give the node the labels that it asks for, or place the pod on a node that has them';
    return { kind: 'wrong-node', why };
  }

  function requireWanted({ pod, volume }: DesiredMount): void {
    const key = volumeKeyOf(volume);
    if (!desired.mountsOf(key).has(mountKey(pod.metadata.uid, volume.specName))) {
      throw new NoLongerWantedError(
        `pod ${pod.metadata.namespace}/${pod.metadata.name} no longer needs ${volume.specName}`,
      );
    }
    if (volume.attachedAs && !inUse.isReported(key)) {
      throw new NoLongerWantedError(`${volume.specName} is no longer reported in use; reporting it again`);
    }
  }

  /**
   * Reports volumesInUse first: a volume in use is neither detached nor deleted. So an attachment that is read after that
   * stays, and a volume of a driver without attach is not deleted while it is staged.
   */
  async function attachment({ volume }: DesiredMount, signal: AbortSignal): Promise<AttachmentAnswer> {
    if (volume.attachedAs) await inUse.ensure(volumeKeyOf(volume), signal);
    if (!isAttachable(volume, ports.driverObject(volume.driver)))
      return { kind: 'attached', publishContext: {} };
    return await readAttachment(ports, volume, signal);
  }

  async function doMountDevice(
    mount: DesiredMount,
    { driver, publishContext }: Attached,
    signal: AbortSignal,
  ): Promise<void> {
    const { volume, pod } = mount;
    if (!needsStaging(driver, volume)) {
      requireWanted(mount);
      actual.setUnstaged(volume, ports.settledSize(mount));
      return;
    }
    await clearStaleDevice(mount, driver, signal);
    const before = actual.get(volumeKeyOf(volume))?.device ?? 'unmounted';
    let begun = false;
    const begins = () => {
      requireWanted(mount);
      begun = true;
      // Read before the driver is called: another node may have expanded the volume when the call ends.
      actual.setDevice(volume, 'uncertain', ports.settledSize(mount));
    };
    try {
      await mountDevice(plugin, { volume, pod, driver, publishContext, begins }, signal);
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

  /** When a staged filesystem is dead, all mounts that were published from it are dead too: all are torn down first. */
  async function clearStaleDevice(
    { volume }: DesiredMount,
    driver: NodeDriver,
    signal: AbortSignal,
  ): Promise<void> {
    if ((await plugin.mounter.inspect(plugin.paths.device(volume).staging)) !== 'corrupted') return;
    for (const mount of [...(actual.get(volumeKeyOf(volume))?.mounts.values() ?? [])]) {
      await doTearDown(mount, driver, signal);
    }
    await unmountDevice(plugin, { volume, driver }, signal);
    signal.throwIfAborted();
    actual.setDevice(volume, 'unmounted');
  }

  async function doSetUp(
    { mount, again }: Extract<Step, { kind: 'set-up' }>,
    { driver, publishContext }: Attached,
    signal: AbortSignal,
  ): Promise<void> {
    const { pod, volume, readOnly } = mount;
    const podUid = pod.metadata.uid;
    const driverObject = ports.driverObject(volume.driver);
    const { target } = plugin.paths.mount(podUid, volume);
    const before = actual.mount(volumeKeyOf(volume), podUid, volume.specName);
    if (before && !again && (await plugin.mounter.inspect(target)) === 'corrupted')
      await doTearDown(before, driver, signal);
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

  async function doTearDown(mount: ActualMount, driver: NodeDriver, signal: AbortSignal): Promise<void> {
    actual.setMount({ ...mount, state: 'uncertain' });
    await tearDown(plugin, { podUid: mount.podUid, volume: mount.volume, driver }, signal);
    signal.throwIfAborted();
    actual.removeMount(mount.volume, mount.podUid);
  }

  async function doUnmountDevice(
    volume: KnownVolume,
    driver: NodeDriver,
    signal: AbortSignal,
  ): Promise<void> {
    actual.setDevice(volume, 'uncertain');
    await unmountDevice(plugin, { volume, driver }, signal);
    signal.throwIfAborted();
    actual.setDevice(volume, 'unmounted');
  }

  async function doExpand(
    { mount, capacity: wanted }: Extract<Step, { kind: 'expand' }>,
    driver: NodeDriver,
    signal: AbortSignal,
  ): Promise<void> {
    const { volume, pod } = mount;
    const isAwaited = ports.settledSize(mount) === undefined;
    // It may have had that size before: then there is nothing to tell.
    const hasGrown = isAwaited || actual.get(volumeKeyOf(volume))?.size !== undefined;
    const context = { kube: ports.kube, nowMs: ports.clock.now(), signal };
    const expanded = await finishExpansion(context, mount, async (capacity) => {
      // Without the capability there is no node expansion, and the claim has the size of its volume.
      if (!driver.capabilities.has('EXPAND_VOLUME')) return;
      await expandVolume(plugin, { volume, driver, podUid: pod.metadata.uid, capacity }, signal);
    });
    const entry = actual.get(volumeKeyOf(volume));
    if (entry) {
      entry.expanded = { to: wanted, asOf: expanded?.claim.metadata.resourceVersion };
      // Not less, where the PersistentVolume says less than its claim: the step would follow itself without end.
      const capacity = expanded?.capacity ?? wanted;
      entry.size = compareQuantities(capacity, wanted) > 0 ? capacity : wanted;
    }
    if (!expanded || !hasGrown) return;
    const text = `Volume ${volume.specName} has ${expanded.capacity} on node ${ports.nodeName}`;
    for (const subject of [pod, expanded.claim]) {
      ports.recorder.event(subject, 'Normal', 'FileSystemResizeSuccessful', text);
    }
  }

  return async (step, volumeKey, signal) => {
    const volume = step.kind === 'unmount-device' ? actual.get(volumeKey)?.volume : step.mount.volume;
    if (!volume) return DONE;
    const driver = ports.driver(volume.driver);
    if (!driver) return noDriver(volume.driver);
    switch (step.kind) {
      case 'tear-down':
        await doTearDown(step.mount, driver, signal);
        return DONE;
      case 'unmount-device':
        await doUnmountDevice(volume, driver, signal);
        return DONE;
      case 'expand':
        await doExpand(step, driver, signal);
        return DONE;
      case 'mount-device':
      case 'set-up': {
        if (!(await matchesNodeAffinity(ports, step.mount.volume, signal))) return wrongNode(step.mount);
        const answer = await attachment(step.mount, signal);
        if (answer.kind !== 'attached') return answer;
        const attached = { driver, publishContext: answer.publishContext };
        if (step.kind === 'mount-device') await doMountDevice(step.mount, attached, signal);
        else await doSetUp(step, attached, signal);
        return DONE;
      }
    }
  };
}

/** Cleans up after a failure. When that fails too, the volume stays uncertain and is torn down like a mounted one. */
async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch {
    // The error of the operation itself is reported.
  }
}
