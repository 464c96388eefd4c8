// The patches of a VolumeAttachment: as small as they can be, and only for the incarnation they are about. Pure.

import type { VolumeAttachment, VolumeError } from '../../api/kinds.ts';
import { CsiError } from '../../csi/csi-error.ts';

/** An error is for reading; drivers have been seen to answer with whole HTML pages. */
const LONGEST_MESSAGE = 4096;

/** Also takes away metadata of an earlier attachment: a merge patch would keep it. */
export function attachedPatch(attachment: VolumeAttachment, metadata: Record<string, string>): object {
  const earlier = Object.keys(attachment.status?.attachmentMetadata ?? {});
  const gone = Object.fromEntries(earlier.filter((key) => !(key in metadata)).map((key) => [key, null]));
  const changes = { ...gone, ...metadata };
  return statusPatch(attachment, {
    attached: true,
    ...(Object.keys(changes).length === 0 ? {} : { attachmentMetadata: changes }),
    ...(attachment.status?.attachError === undefined ? {} : { attachError: null }),
  });
}

export function detachedPatch(attachment: VolumeAttachment): object {
  return statusPatch(attachment, { attached: false, attachmentMetadata: null, detachError: null });
}

export function errorPatch(
  attachment: VolumeAttachment,
  operation: 'attach' | 'detach',
  error: VolumeError,
): object {
  // `attached` is required of a status, and this may be the first one.
  const attached = attachment.status?.attached ?? false;
  return statusPatch(attachment, {
    attached,
    [operation === 'attach' ? 'attachError' : 'detachError']: error,
  });
}

function statusPatch(attachment: VolumeAttachment, status: object): object {
  return { metadata: { uid: attachment.metadata.uid }, status };
}

/** `reportCode`: say the gRPC code too, as the attach limit's re-count needs it. */
export function volumeError(error: Error, nowMs: number, reportCode: boolean): VolumeError {
  const { message } = error;
  return {
    time: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)} […]` : message,
    ...(reportCode && error instanceof CsiError ? { errorCode: error.rawCode } : {}),
  };
}
