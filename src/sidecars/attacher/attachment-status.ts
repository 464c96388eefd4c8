// The patches of a VolumeAttachment: as small as they can be, and only for the version that they were decided on. Pure.
// Otherwise one that arrives late, from a process that has ended, would write over what another has done since.

import type { VolumeAttachment, VolumeError } from '../../api/kinds.ts';
import { CsiError } from '../../csi/csi-error.ts';

/** In bytes: kube-apiserver rejects longer ones, and with them the whole status. */
const LONGEST_MESSAGE = 1024;
const CUT = ' […]';

type Fields = Record<string, unknown>;

export interface StatusPatch {
  /** It applies to this version only. */
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly status: Fields;
}

/** Also removes metadata of an earlier attachment, which a merge patch would keep. */
export function attachedPatch(attachment: VolumeAttachment, metadata: Record<string, string>): StatusPatch {
  const earlier = Object.keys(attachment.status?.attachmentMetadata ?? {});
  const gone = Object.fromEntries(earlier.filter((key) => !(key in metadata)).map((key) => [key, null]));
  const changes = { ...gone, ...metadata };
  return statusPatch(attachment, {
    attached: true,
    ...(Object.keys(changes).length === 0 ? {} : { attachmentMetadata: changes }),
    ...(attachment.status?.attachError === undefined ? {} : { attachError: null }),
  });
}

export function detachedPatch(attachment: VolumeAttachment): StatusPatch {
  return statusPatch(attachment, { attached: false, attachmentMetadata: null, detachError: null });
}

/** Says nothing of `attached`, which a node trusts. A first status must have the field. */
export function errorPatch(
  attachment: VolumeAttachment,
  operation: 'attach' | 'detach',
  error: VolumeError,
): StatusPatch {
  const report = { [operation === 'attach' ? 'attachError' : 'detachError']: error };
  return statusPatch(attachment, attachment.status === undefined ? { attached: false, ...report } : report);
}

function statusPatch({ metadata }: VolumeAttachment, status: Fields): StatusPatch {
  return { metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion }, status };
}

/** The attachment with the patch in it: nobody but the attacher writes its status. */
export function withStatus(attachment: VolumeAttachment, { status }: StatusPatch): VolumeAttachment {
  return { ...attachment, status: merged({ ...attachment.status }, status) as never };
}

/** RFC 7386. */
function merged(base: Fields, patch: Fields): Fields {
  const result = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = isFields(value) ? merged(isFields(result[key]) ? result[key] : {}, value) : value;
  }
  return result;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `reportCode`: say the gRPC code too, as the attach limit's re-count needs it. */
export function volumeError(error: Error, nowMs: number, reportCode: boolean): VolumeError {
  const { message } = error;
  return {
    time: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    message: withinLimit(message),
    ...(reportCode && error instanceof CsiError ? { errorCode: error.rawCode } : {}),
  };
}

function withinLimit(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= LONGEST_MESSAGE) return message;
  const room = LONGEST_MESSAGE - Buffer.byteLength(CUT);
  // A character that is cut in half is left out.
  return `${new TextDecoder().decode(bytes.subarray(0, room)).replace(/\uFFFD+$/, '')}${CUT}`;
}
