// Whether a volume is attached to this node, and with which publish context. Reads the VolumeAttachment by name, because
// that is what a node may do; the time to look again is when the Node's `volumesAttached` changes.

import { hash } from 'node:crypto';
import type { CSIDriver } from '../../api/kinds.ts';
import { nodes, type VolumeAttachment, volumeAttachments } from '../../api/kinds.ts';
import { attachmentName, inlineAttachmentName, inlineSourceOf, uniqueVolumeName } from '../../api/volumes.ts';
import { attachmentState } from '../../csi-plugin/attach/attachment-state.ts';
import type { MountableVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import { ExpectedError } from '../../runtime/expected-error.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isForbidden, isNotFound } from '../../runtime/kube/kube-error.ts';

/** Not attached (yet): what nearly every volume is when it is first looked at. */
export class NotAttachedError extends ExpectedError {
  override readonly name = 'NotAttachedError';
  /** The attacher tried and failed. */
  readonly failed: boolean;

  constructor(message: string, failed: boolean) {
    super(message, undefined);
    this.failed = failed;
  }
}

/** A driver without an object is one that has to be attached. */
export function isAttachable(
  volume: Pick<MountableVolume, 'attachedAs'>,
  driver: CSIDriver | undefined,
): boolean {
  return volume.attachedAs !== undefined && driver?.spec.attachRequired !== false;
}

export async function waitForAttach(
  ports: { kube: Pick<KubeClient, 'get'>; nodeName: string },
  volume: MountableVolume,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const attachment = await findAttachment(ports, volume, signal);
  const state = attachmentState(attachment);
  const what = `${volume.driver} volume ${volume.specName} is not attached to node ${ports.nodeName}`;
  switch (state.kind) {
    case 'attached':
      if (await isListed(ports, volume, signal)) return state.publishContext;
      throw new NotAttachedError(
        `${what}: it is about to be detached, waiting for it to be attached anew`,
        false,
      );
    case 'attach-failed':
      throw new NotAttachedError(`${what}: the attacher reports: ${state.message}`, true);
    case 'detaching':
      throw new NotAttachedError(
        `${what}: VolumeAttachment ${attachment?.metadata.name} is being detached, waiting for it to be attached anew`,
        false,
      );
    case 'pending':
      throw new NotAttachedError(
        `${what}: waiting for the attacher to answer in VolumeAttachment ${attachment?.metadata.name}`,
        false,
      );
    case 'absent':
      throw new NotAttachedError(
        `${what}: waiting for the attach/detach controller to make its VolumeAttachment`,
        false,
      );
  }
}

/**
 * Whether the Node still lists the volume as attached. It is taken off that list before it is detached, so a node that
 * has reported its use and then finds it listed cannot have it taken away any more; the attachment alone does not say.
 */
async function isListed(
  { kube, nodeName }: { kube: Pick<KubeClient, 'get'>; nodeName: string },
  { driver, handle }: MountableVolume,
  signal: AbortSignal,
): Promise<boolean> {
  const { status } = await kube.get(nodes, { name: nodeName }, { signal });
  return status?.volumesAttached?.some(({ name }) => name === uniqueVolumeName(driver, handle)) ?? false;
}

async function findAttachment(
  ports: { kube: Pick<KubeClient, 'get'>; nodeName: string },
  volume: MountableVolume,
  signal: AbortSignal,
): Promise<VolumeAttachment | undefined> {
  for (const name of candidateNames(volume, ports.nodeName)) {
    try {
      const attachment = await ports.kube.get(volumeAttachments, { name }, { signal });
      if (isFor(attachment, volume, ports.nodeName)) return attachment;
    } catch (error) {
      // A node is told "forbidden" of what does not exist as well.
      if (!isNotFound(error) && !isForbidden(error)) throw error;
    }
  }
  return undefined;
}

/** Ours, and that of kube-controller-manager, so that a node works beside either. */
function candidateNames(volume: MountableVolume, nodeName: string): string[] {
  const { attachedAs, driver, handle } = volume;
  if (!attachedAs) return [];
  const official = hash('sha256', `${handle}${driver}${nodeName}`);
  if ('pvName' in attachedAs) return [attachmentName(attachedAs.pvName, nodeName), `csi-${official}`];
  return [inlineAttachmentName({ namespace: attachedAs.inlineIn, driver, volumeHandle: handle, nodeName })];
}

function isFor(attachment: VolumeAttachment, volume: MountableVolume, nodeName: string): boolean {
  const { spec } = attachment;
  if (spec.attacher !== volume.driver || spec.nodeName !== nodeName || !volume.attachedAs) return false;
  if ('pvName' in volume.attachedAs) return spec.source.persistentVolumeName === volume.attachedAs.pvName;
  const inline = inlineSourceOf(attachment);
  return inline?.kind === 'source' && inline.csi.volumeHandle === volume.handle;
}
