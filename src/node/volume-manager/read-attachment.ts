// Whether a volume is attached to this node, and with which publish context. Reads the VolumeAttachment by name,
// since a node may not watch it; reads it again when the Node's `volumesAttached` changes.

import type { CSIDriver } from '../../api/kinds.ts';
import { nodes, type VolumeAttachment, volumeAttachments } from '../../api/kinds.ts';
import { uniqueVolumeName } from '../../api/volumes.ts';
import {
  type AttachmentSubject,
  attachmentNames,
  isAttachmentOf,
} from '../../csi-plugin/attach/attachable-volume.ts';
import { attachmentState } from '../../csi-plugin/attach/attachment-state.ts';
import type { MountableVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isForbidden, isNotFound } from '../../runtime/kube/kube-error.ts';

export type AttachmentAnswer =
  | { kind: 'attached'; publishContext: Readonly<Record<string, string>> }
  /** Not attached yet: the usual state at the first look. */
  | { kind: 'not-attached'; why: string }
  /** The attacher failed and retries. */
  | { kind: 'attach-failed'; why: string; isNodeFull: boolean };

interface Ports {
  kube: Pick<KubeClient, 'get'>;
  nodeName: string;
}

/** A driver without a CSIDriver object needs attach. */
export function isAttachable(
  volume: Pick<MountableVolume, 'attachedAs'>,
  driver: CSIDriver | undefined,
): boolean {
  return volume.attachedAs !== undefined && driver?.spec.attachRequired !== false;
}

export async function readAttachment(
  ports: Ports,
  volume: MountableVolume,
  signal: AbortSignal,
): Promise<AttachmentAnswer> {
  const attachment = await findOnServer(ports, volume, signal);
  const state = attachmentState(attachment);
  const name = attachment?.metadata.name;
  const what = `${volume.driver} volume ${volume.specName} is not attached to node ${ports.nodeName}`;
  const waits = (why: string): AttachmentAnswer => ({ kind: 'not-attached', why: `${what}: ${why}` });
  switch (state.kind) {
    case 'attached':
      if (await isListed(ports, volume, signal)) return state;
      return waits('it is about to be detached, waiting for it to be attached again');
    case 'attach-failed': {
      const why = `${what}: the attacher reports: ${state.message}`;
      return { kind: 'attach-failed', why, isNodeFull: state.isNodeFull };
    }
    case 'detaching':
      return waits(`VolumeAttachment ${name} is being detached, waiting for it to be attached again`);
    case 'pending':
      return waits(`waiting for the attacher to answer in VolumeAttachment ${name}`);
    case 'absent':
      return waits('waiting for the attach/detach controller to create its VolumeAttachment');
  }
}

/**
 * Whether the Node still lists the volume in `volumesAttached`. It is removed from that list before it is detached, so
 * a volume that is reported in use and then still listed stays attached. The attachment alone does not prove that.
 */
async function isListed(
  { kube, nodeName }: Ports,
  { driver, handle }: MountableVolume,
  signal: AbortSignal,
): Promise<boolean> {
  const { status } = await kube.get(nodes, { name: nodeName }, { signal });
  return status?.volumesAttached?.some(({ name }) => name === uniqueVolumeName(driver, handle)) ?? false;
}

async function findOnServer(
  { kube, nodeName }: Ports,
  volume: MountableVolume,
  signal: AbortSignal,
): Promise<VolumeAttachment | undefined> {
  const subject = attachmentSubject(volume);
  for (const name of subject ? attachmentNames(subject, nodeName) : []) {
    try {
      const attachment = await kube.get(volumeAttachments, { name }, { signal });
      if (subject && isAttachmentOf(attachment, subject, nodeName)) return attachment;
    } catch (error) {
      // For a node, "forbidden" can also mean that the object does not exist.
      if (!isNotFound(error) && !isForbidden(error)) throw error;
    }
  }
  return undefined;
}

function attachmentSubject({ driver, handle, attachedAs }: MountableVolume): AttachmentSubject | undefined {
  if (!attachedAs) return undefined;
  const identity = { driver, volumeHandle: handle };
  return 'pvName' in attachedAs
    ? { kind: 'persistent-volume', ...identity, pvName: attachedAs.pvName }
    : { kind: 'inline', ...identity, namespace: attachedAs.inlineIn };
}
