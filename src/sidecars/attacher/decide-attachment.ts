// What to do about one VolumeAttachment, from what is known of it, of its volume and of its node. Pure: the tables in
// decide-attachment.test.ts are the specification.

import type { PersistentVolume, VolumeAttachment } from '../../api/kinds.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import type { DriverName, NodeId } from '../../csi/names/driver-name.ts';
import { recordedNodeId, recordedVolume } from './attachment-record.ts';
import { type PublishedVolume, type VolumeToPublish, volumeSourceOf } from './volume-source.ts';

export interface AttachmentSnapshot {
  attachment: VolumeAttachment;
  driver: DriverName;
  /** The one that the attachment names, if it names one and it exists. */
  persistentVolume: PersistentVolume | undefined;
  /** As the node says now. */
  nodeId: NodeId | undefined;
  /** The driver has PUBLISH_UNPUBLISH_VOLUME. */
  publishes: boolean;
  /** The driver says that the volume is not on the node although the attachment says so. */
  drifted: boolean;
}

export type AttachmentDecision =
  | { do: 'nothing'; why: string }
  | { do: 'mark-attached' }
  /** It is detached, and its status does not say so: the finalizer of somebody else keeps it. */
  | { do: 'mark-detached' }
  | {
      do: 'publish';
      volume: VolumeToPublish;
      nodeId: NodeId;
      /** An earlier attempt, of which it is not certain that it failed, was for this node ID. */
      earlierNodeId: NodeId | undefined;
    }
  | { do: 'unpublish'; volume: PublishedVolume; nodeId: NodeId }
  /** Nothing is attached: the finalizer goes without a call. */
  | { do: 'release' }
  | { do: 'refuse'; operation: 'attach' | 'detach'; problem: string };

const nothing = (why: string): AttachmentDecision => ({ do: 'nothing', why });

export function decideAttachment(snapshot: AttachmentSnapshot): AttachmentDecision {
  const { attachment, driver } = snapshot;
  if (attachment.spec.attacher !== driver) return nothing('it is for another attacher');
  return attachment.metadata.deletionTimestamp === undefined
    ? decideAttach(snapshot)
    : decideDetach(snapshot);
}

function decideAttach(snapshot: AttachmentSnapshot): AttachmentDecision {
  const { attachment, persistentVolume, nodeId, publishes, drifted } = snapshot;
  const attached = attachment.status?.attached ?? false;
  if (!publishes) return attached ? nothing('it is attached') : { do: 'mark-attached' };
  if (attached && !drifted) return nothing('it is attached');
  const refuse = (problem: string): AttachmentDecision => ({ do: 'refuse', operation: 'attach', problem });
  const source = volumeSourceOf(attachment, persistentVolume);
  if ('problem' in source) return refuse(source.problem);
  const problem = persistentVolume && deletionProblem(persistentVolume);
  if (problem) return refuse(problem);
  if (nodeId === undefined) {
    return refuse(
      `node "${attachment.spec.nodeName}" does not say its node ID for driver "${snapshot.driver}"; ` +
        'check that the node exists and that the driver is registered there',
    );
  }
  const recorded = hasOurFinalizer(snapshot) ? recordedNodeId(attachment) : undefined;
  return {
    do: 'publish',
    volume: source.volume,
    nodeId,
    earlierNodeId: recorded === nodeId ? undefined : recorded,
  };
}

/**
 * Why a PersistentVolume must not be attached any more: its storage is deleted, or about to be. The provisioner deletes
 * a Released volume once nothing is attached, and relies on nothing being attached after that.
 */
export function deletionProblem({ metadata, spec, status }: PersistentVolume): string | undefined {
  const what = `PersistentVolume "${metadata.name}"`;
  if (metadata.deletionTimestamp !== undefined) return `${what} is being deleted`;
  if (status?.phase !== 'Released' || spec.persistentVolumeReclaimPolicy !== 'Delete') return undefined;
  return `the claim of ${what} is gone and its reclaim policy is Delete, so its storage is about to be deleted`;
}

function decideDetach(snapshot: AttachmentSnapshot): AttachmentDecision {
  const { attachment, persistentVolume, nodeId, publishes } = snapshot;
  // The finalizer is written before the first call: without it there was no call.
  if (!hasOurFinalizer(snapshot))
    return attachment.status?.attached ? { do: 'mark-detached' } : nothing('it is detached');
  // A driver that no longer offers the call cannot be asked; waiting would be for ever.
  if (!publishes) return { do: 'release' };
  const refuse = (problem: string): AttachmentDecision => ({ do: 'refuse', operation: 'detach', problem });
  const volume = volumeToUnpublish(attachment, persistentVolume);
  if ('problem' in volume) {
    return refuse(
      `${volume.problem}, so it is not known what to detach; if it is certain that the volume is detached, ` +
        `remove the finalizer ${attacherFinalizer(snapshot.driver)}`,
    );
  }
  const attachedTo = recordedNodeId(attachment) ?? nodeId;
  if (attachedTo === undefined) {
    return refuse(
      `the node ID is not recorded and node "${attachment.spec.nodeName}" does not say it; ` +
        'without it the volume would be detached from every node',
    );
  }
  return { do: 'unpublish', volume, nodeId: attachedTo };
}

/** What was recorded is what was published. The PersistentVolume knows better only as long as it is the same volume. */
function volumeToUnpublish(
  attachment: VolumeAttachment,
  persistentVolume: PersistentVolume | undefined,
): PublishedVolume | { problem: string } {
  const recorded = recordedVolume(attachment);
  const source = volumeSourceOf(attachment, persistentVolume);
  if ('problem' in source) return recorded ?? source;
  const { handle, secret } = source.volume;
  return recorded === undefined || recorded.handle === handle ? { handle, secret } : recorded;
}

function hasOurFinalizer({ attachment, driver }: AttachmentSnapshot): boolean {
  return attachment.metadata.finalizers?.includes(attacherFinalizer(driver)) ?? false;
}
