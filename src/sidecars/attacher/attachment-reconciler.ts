// Brings one VolumeAttachment to where it should be: reads it, its volume and its node, lets decideAttachment decide,
// and does it. Writes the attachment's finalizer, annotations and status, and Events on it and on the pod of an inline
// volume.

import {
  type CSINode,
  type CSINodeInfo,
  nodes,
  type PersistentVolume,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import { driverOnNode } from '../../api/volumes.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import type { NodeId, VolumeHandle } from '../../csi/names/driver-name.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import { isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import { done, type Outcome, type Reconcile, requeueAfter } from '../../runtime/queue/loop.ts';
import type { SidecarPorts } from '../common/sidecar.ts';
import type { VolumeTurns } from '../common/volume-turns.ts';
import { AttachmentProblem, concernsUser } from './attachment-problem.ts';
import { recordAnnotations, recordedNodeId, recordedPod } from './attachment-record.ts';
import {
  attachedPatch,
  detachedPatch,
  errorPatch,
  type StatusPatch,
  volumeError,
  withStatus,
} from './attachment-status.ts';
import { type AttachmentDecision, decideAttachment, deletionProblem } from './decide-attachment.ts';
import type { DriftList } from './drift-list.ts';
import type { PublishCalls } from './publish-calls.ts';
import type { VolumeProtection } from './volume-protection.ts';

type Operation = 'attach' | 'detach';
type Deciding<K extends AttachmentDecision['do']> = Extract<AttachmentDecision, { do: K }>;

export interface AttachmentReconcilerOptions
  extends Pick<SidecarPorts, 'kube' | 'driver' | 'clock' | 'log' | 'recorder'> {
  attachments: Informer<VolumeAttachment>;
  csiNodes: Informer<CSINode>;
  csiNodeInfos: Informer<CSINodeInfo>;
  protection: VolumeProtection;
  calls: PublishCalls;
  turns: VolumeTurns;
  drift: DriftList;
  /** Put the gRPC code into `attachError`. */
  reportErrorCode: boolean;
}

export function attachmentReconciler(options: AttachmentReconcilerOptions): Reconcile {
  const { kube, driver, clock, log, recorder, protection, calls, turns, drift } = options;
  const attachments = new ReadYourWrites(options.attachments);
  const finalizer = attacherFinalizer(driver.name);
  const publishes = driver.controller.has('PUBLISH_UNPUBLISH_VOLUME');

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const first = attachments.get(key);
    if (first === undefined) return done;
    const persistentVolume = await volumeOf(first);
    const nodeId = await nodeIdFor(first, signal);
    signal.throwIfAborted();
    // Nothing is awaited between this and the first step: the decision is about the newest that is known.
    const attachment = attachments.get(key);
    if (attachment === undefined || attachment.metadata.uid !== first.metadata.uid) return done;
    const decision = decideAttachment({
      attachment,
      driver: driver.name,
      persistentVolume,
      nodeId,
      publishes,
      drifted: drift.has(attachment),
    });
    switch (decision.do) {
      case 'nothing':
        log.v(4).info('Nothing to do', { volumeAttachment: key, why: decision.why });
        return done;
      case 'mark-attached':
        return mark(attachment, attachedPatch(attachment, {}), signal);
      case 'mark-detached':
        return mark(attachment, detachedPatch(attachment), signal);
      case 'release':
        await release(attachment, signal);
        return done;
      case 'refuse':
        return failed(attachment, decision.operation, new AttachmentProblem(decision.problem), signal);
      case 'publish':
        return inTurn(key, decision.volume.handle, () =>
          attach(attachment, persistentVolume, decision, signal),
        );
      case 'unpublish':
        return inTurn(key, decision.volume.handle, () => detach(attachment, decision, signal));
      default:
        return decision satisfies never;
    }
  }

  async function volumeOf({ spec }: VolumeAttachment): Promise<PersistentVolume | undefined> {
    const name = spec.source.persistentVolumeName;
    return name === undefined ? undefined : protection.read(name);
  }

  /** Asked of the Node itself only where neither CSINode nor CSINodeInfo knows the driver: almost never. */
  async function nodeIdFor(attachment: VolumeAttachment, signal: AbortSignal): Promise<NodeId | undefined> {
    const { nodeName, attacher } = attachment.spec;
    const detaching = attachment.metadata.deletionTimestamp !== undefined;
    if (!publishes || attacher !== driver.name) return undefined;
    if (detaching ? recordedNodeId(attachment) : attachment.status?.attached && !drift.has(attachment)) {
      return undefined;
    }
    const csiNode = options.csiNodes.get(nodeName);
    const csiNodeInfo = options.csiNodeInfos.get(nodeName);
    const known = driverOnNode(driver.name, { csiNode, csiNodeInfo });
    const found =
      known ??
      driverOnNode(driver.name, { node: await ifThere(kube.get(nodes, { name: nodeName }, { signal })) });
    return found?.nodeId as NodeId | undefined;
  }

  async function inTurn(key: string, handle: VolumeHandle, work: () => Promise<Outcome>): Promise<Outcome> {
    if (!turns.tryEnter(handle, key)) {
      log.v(4).info('Another call for the volume is under way', { volumeAttachment: key });
      return done;
    }
    try {
      return await work();
    } finally {
      turns.leave(handle);
    }
  }

  async function attach(
    attachment: VolumeAttachment,
    persistentVolume: PersistentVolume | undefined,
    { volume, nodeId, earlierNodeId }: Deciding<'publish'>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    let current = attachment;
    try {
      // Before the finalizer: what cannot be attached must not hold up the deletion of the attachment.
      const publish = await calls.preparePublish(volume, nodeId, signal);
      if (earlierNodeId !== undefined) {
        const undoing = await announceUndo(attachment, { nodeId, earlierNodeId }, signal);
        // Gone: its deletion is on its way to the cache, and asking again until then would be in vain.
        if (undoing === undefined) return done;
        if (undoing.metadata.resourceVersion === attachment.metadata.resourceVersion)
          return requeueAfter(1_000, 'the undo of the attempt was announced less than a second ago');
        current = undoing;
        await calls.unpublish(volume, earlierNodeId, signal);
      }
      if (persistentVolume) await protect(persistentVolume, signal);
      current = await record(current, recordAnnotations(current, nodeId, volume), signal);
      const metadata = await publish();
      signal.throwIfAborted();
      await writeStatus(current, attachedPatch(current, metadata), signal);
    } catch (error) {
      return isConflict(error)
        ? againIfChanged(current, error, signal)
        : failed(current, 'attach', error, signal);
    }
    drift.clear(current);
    log.v(2).info('Attached', { volumeAttachment: attachment.metadata.name, volume: volume.handle, nodeId });
    return done;
  }

  /**
   * The attempt under the old node ID may have succeeded, and "attached: true" may be written or on its way; then pods may use
   * the volume, and nothing may be undone. So this is a write of the version that was decided on, and makes a new one:
   * one of the two conflicts. Undefined when the attachment is gone.
   */
  async function announceUndo(
    attachment: VolumeAttachment,
    { nodeId, earlierNodeId }: { nodeId: NodeId; earlierNodeId: NodeId },
    signal: AbortSignal,
  ): Promise<VolumeAttachment | undefined> {
    const problem = new AttachmentProblem(
      `the node's ID is ${nodeId} now; undoing an attempt to attach under ${earlierNodeId} first`,
    );
    const error = volumeError(problem, clock.now(), false);
    return writeStatus(attachment, errorPatch(attachment, 'attach', error), signal);
  }

  /**
   * As the server has it: a newer version is what the next run decides about. Undefined when it is gone, also when another one
   * has its name by now. That one has to wait for the cache, which would take the end of the first for its own.
   */
  async function readAgain(
    { metadata: { name, uid } }: VolumeAttachment,
    signal: AbortSignal,
  ): Promise<VolumeAttachment | undefined> {
    const current = await ifThere(kube.get(volumeAttachments, { name }, { signal }));
    return current?.metadata.uid === uid ? attachments.wrote(current) : undefined;
  }

  async function mark(
    attachment: VolumeAttachment,
    patch: StatusPatch,
    signal: AbortSignal,
  ): Promise<Outcome> {
    try {
      await writeStatus(attachment, patch, signal);
      return done;
    } catch (error) {
      return againIfChanged(attachment, error, signal);
    }
  }

  /** After a conflict the newest version decides at once. If that is no other one, the conflict is thrown. */
  async function againIfChanged(
    attachment: VolumeAttachment,
    error: unknown,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (!isConflict(error)) throw error;
    const newest = await readAgain(attachment, signal);
    if (newest?.metadata.resourceVersion === attachment.metadata.resourceVersion) throw error;
    if (newest === undefined) return done;
    // A repair goes on: the volume may have been published again, with metadata that is not written yet.
    if (newest.status?.attached) drift.wrote(attachment, newest);
    return requeueAfter(0, 'the attachment has changed');
  }

  /** The server's answer decides, because the cache may not show yet that the volume is about to be deleted. */
  async function protect(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const current = await protection.protect(volume, signal);
    const { name, uid } = current.metadata;
    const problem =
      uid === volume.metadata.uid
        ? deletionProblem(current)
        : `PersistentVolume "${name}" was deleted and made anew; trying again with the new one`;
    if (problem) throw new AttachmentProblem(problem);
  }

  async function detach(
    attachment: VolumeAttachment,
    { volume, nodeId }: Deciding<'unpublish'>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    try {
      await calls.unpublish(volume, nodeId, signal);
    } catch (error) {
      return failed(attachment, 'detach', error, signal);
    }
    signal.throwIfAborted();
    await release(attachment, signal);
    log.v(2).info('Detached', { volumeAttachment: attachment.metadata.name, volume: volume.handle, nodeId });
    return done;
  }

  async function record(
    attachment: VolumeAttachment,
    annotations: Record<string, string>,
    signal: AbortSignal,
  ): Promise<VolumeAttachment> {
    const { name, uid, resourceVersion, finalizers = [] } = attachment.metadata;
    const known = attachment.metadata.annotations ?? {};
    const isRecorded = Object.entries(annotations).every(([key, value]) => known[key] === value);
    if (isRecorded && finalizers.includes(finalizer)) return attachment;
    const metadata = {
      uid,
      resourceVersion,
      annotations,
      ...(finalizers.includes(finalizer) ? {} : { finalizers: [...finalizers, finalizer] }),
    };
    return wrote(
      attachment,
      await kube.patch(
        volumeAttachments,
        { name },
        { metadata },
        { type: 'merge', known: attachment, signal },
      ),
    );
  }

  /** The finalizer first: without it the attachment counts as detached, whatever its status says. */
  async function release(attachment: VolumeAttachment, signal: AbortSignal): Promise<void> {
    const written = await removeFinalizer({
      kube,
      resource: volumeAttachments,
      object: attachment,
      finalizer,
      signal,
    });
    // With the last finalizer the object went; others' finalizers keep it, and its status must not lie.
    if (written === undefined || (written.metadata.finalizers ?? []).length === 0) return;
    attachments.wrote(written);
    await writeStatus(written, detachedPatch(written), signal);
  }

  /** Undefined when the attachment is gone. */
  async function writeStatus(
    attachment: VolumeAttachment,
    patch: StatusPatch,
    signal: AbortSignal,
  ): Promise<VolumeAttachment | undefined> {
    const target = { name: attachment.metadata.name };
    const known = withStatus(attachment, patch);
    const options = { type: 'merge', subresource: 'status', known, signal } as const;
    try {
      return wrote(attachment, await kube.patch(volumeAttachments, target, patch, options));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return undefined;
    }
  }

  function wrote(before: VolumeAttachment, after: VolumeAttachment): VolumeAttachment {
    drift.wrote(before, after);
    return attachments.wrote(after);
  }

  /** Always throws, so that the loop tries again with backoff. */
  async function failed(
    attachment: VolumeAttachment,
    operation: Operation,
    error: unknown,
    signal: AbortSignal,
  ): Promise<never> {
    signal.throwIfAborted();
    if (!concernsUser(error)) throw error;
    const verb = operation === 'attach' ? 'FailedAttachVolume' : 'FailedDetachVolume';
    recorder.event(attachment, 'Warning', verb, error.message);
    // Users see neither attachments nor their events, and who attached tells pods only about failed attaches.
    const pod = operation === 'detach' ? recordedPod(attachment) : undefined;
    if (pod) {
      const message = `inline volume is still attached to node ${attachment.spec.nodeName}: ${error.message}; trying again`;
      recorder.event(pod, 'Warning', verb, message);
    }
    const reported = volumeError(error, clock.now(), operation === 'attach' && options.reportErrorCode);
    try {
      await writeStatus(attachment, errorPatch(attachment, operation, reported), signal);
    } catch (problem) {
      log.v(2).info('Could not write the error into the attachment', {
        volumeAttachment: attachment.metadata.name,
        err: problem,
      });
    }
    throw error;
  }

  return reconcile;
}
