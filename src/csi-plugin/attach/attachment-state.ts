// The state of a VolumeAttachment as one value. With a deletion timestamp `attached` cannot be trusted, and an error
// counts only while its operation has not succeeded.

import type { VolumeAttachment } from '../../api/kinds.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import { grpcCodes } from '../../wire/grpc/grpc-code.ts';

export type AttachmentState =
  | { kind: 'absent' }
  /** The attacher has not answered yet. */
  | { kind: 'pending' }
  | { kind: 'attached'; publishContext: Readonly<Record<string, string>> }
  /** `isNodeFull`: the driver reports that the node has reached its volume limit. */
  | { kind: 'attach-failed'; message: string; isNodeFull: boolean }
  /** Being detached. `attached` must not be trusted, and no new object can be created until it is gone. */
  | { kind: 'detaching'; attached: boolean; error: string | undefined };

const NO_MESSAGE = 'the attacher gave no message';

export function attachmentState(attachment: VolumeAttachment | undefined): AttachmentState {
  if (!attachment) return { kind: 'absent' };
  const status = attachment.status;
  if (attachment.metadata.deletionTimestamp) {
    const error = status?.detachError;
    return {
      kind: 'detaching',
      attached: status?.attached ?? false,
      error: error && (error.message ?? NO_MESSAGE),
    };
  }
  if (status?.attached) return { kind: 'attached', publishContext: status.attachmentMetadata ?? {} };
  if (status?.attachError) {
    const { message = NO_MESSAGE, errorCode } = status.attachError;
    return { kind: 'attach-failed', message, isNodeFull: errorCode === grpcCodes.RESOURCE_EXHAUSTED };
  }
  return { kind: 'pending' };
}

/**
 * Whether the volume may be attached to the node. `attached: false` alone proves nothing: the call may be in flight, or
 * may have succeeded after a time-out. The attacher's finalizer is the proof: it is set before the first
 * ControllerPublishVolume, and removed after a successful ControllerUnpublishVolume.
 */
export function mayBeAttached(attachment: VolumeAttachment): boolean {
  const { deletionTimestamp, finalizers } = attachment.metadata;
  if (!deletionTimestamp || attachment.status?.attached) return true;
  return finalizers?.includes(attacherFinalizer(attachment.spec.attacher)) ?? false;
}
