// Actual state: which VolumeAttachments exist for a volume, on which nodes. Read from the caches, so that a restart goes
// on where the last run ended. Two things are kept besides: the handle of a deleted PersistentVolume while it has
// attachments, and attachments that are being created and not in the cache yet. Without the latter, two nodes could get
// the same volume within the lag of a watch.

import type { PersistentVolume, VolumeAttachment } from '../../api/kinds.ts';
import { inlineSourceOf } from '../../api/volumes.ts';
import { volumeNamesOf } from '../../csi/names/driver-name.ts';
import { mayBeAttached } from '../../csi-plugin/attach/attachment-state.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { type SlotVolume, slotVolume } from './slot.ts';

const BY_NODE = 'attach-detach/node';
const BY_SOURCE = 'attach-detach/source';

export class ActualAttachments {
  readonly #attachments: Informer<VolumeAttachment>;
  readonly #volumeIds = new Map<string, SlotVolume>();
  readonly #pvNames = new Map<SlotVolume, Set<string>>();
  readonly #beingMade = new Map<SlotVolume, Map<string, string>>();

  constructor(attachments: Informer<VolumeAttachment>) {
    this.#attachments = attachments;
    attachments.addIndex(BY_NODE, nodesOf);
    attachments.addIndex(BY_SOURCE, sourcesOf);
  }

  get size(): number {
    return this.#attachments.list().length;
  }

  /** Returns whether it is another volume than was known under this name: its attachments are in other slots then. */
  knows(volume: PersistentVolume): boolean {
    const { csi } = volume.spec;
    if (!csi) return false;
    const { name } = volume.metadata;
    const volumeId = slotVolume(volumeNamesOf(csi));
    if (this.#volumeIds.get(name) === volumeId) return false;
    this.forget(name);
    this.#volumeIds.set(name, volumeId);
    const names = this.#pvNames.get(volumeId);
    if (names) names.add(name);
    else this.#pvNames.set(volumeId, new Set([name]));
    return true;
  }

  /** To be called once neither the volume nor an attachment of it is left. */
  forget(pvName: string): void {
    const volumeId = this.#volumeIds.get(pvName);
    if (volumeId === undefined) return;
    this.#volumeIds.delete(pvName);
    const names = this.#pvNames.get(volumeId);
    names?.delete(pvName);
    if (names?.size === 0) this.#pvNames.delete(volumeId);
  }

  of(pvName: string): readonly VolumeAttachment[] {
    return this.#attachments.byIndex(BY_SOURCE, `pv:${pvName}`);
  }

  volumeIdOf(attachment: VolumeAttachment): SlotVolume {
    const source = sourceOf(attachment);
    const { persistentVolumeName } = attachment.spec.source;
    return persistentVolumeName === undefined
      ? source
      : (this.#volumeIds.get(persistentVolumeName) ?? source);
  }

  onNode(nodeName: string): readonly VolumeAttachment[] {
    return this.#attachments.byIndex(BY_NODE, nodeName);
  }

  /** Attachments of one volume to one node: more than one when volumes share a handle. */
  at(nodeName: string, volumeId: SlotVolume): VolumeAttachment[] {
    return this.#ofVolume(volumeId).filter(
      (attachment) => attachment.spec.nodeName === nodeName && this.volumeIdOf(attachment) === volumeId,
    );
  }

  /** Other nodes that may have the volume. */
  holdersBesides(nodeName: string, volumeId: SlotVolume): string[] {
    const holders = new Set(this.#beingMade.get(volumeId)?.keys());
    for (const attachment of this.#ofVolume(volumeId)) {
      if (mayBeAttached(attachment)) holders.add(attachment.spec.nodeName);
    }
    holders.delete(nodeName);
    return [...holders].sort();
  }

  #ofVolume(volumeId: SlotVolume): VolumeAttachment[] {
    const bySource = (source: string) => this.#attachments.byIndex(BY_SOURCE, source);
    const names = [...(this.#pvNames.get(volumeId) ?? [])];
    return [...bySource(volumeId), ...names.flatMap((name) => bySource(`pv:${name}`))];
  }

  /** From now on the node counts as a holder, whatever the cache says. */
  making(volumeId: SlotVolume, nodeName: string, attachmentName: string): void {
    const nodes = this.#beingMade.get(volumeId) ?? new Map<string, string>();
    this.#beingMade.set(volumeId, nodes.set(nodeName, attachmentName));
  }

  /** From now on the cache decides. */
  made(volumeId: SlotVolume, nodeName: string): void {
    const nodes = this.#beingMade.get(volumeId);
    nodes?.delete(nodeName);
    if (nodes?.size === 0) this.#beingMade.delete(volumeId);
  }

  /** The attachment that is being created and is not in the cache yet. */
  unseen(volumeId: SlotVolume, nodeName: string): string | undefined {
    const name = this.#beingMade.get(volumeId)?.get(nodeName);
    if (name === undefined || this.#attachments.get(name) === undefined) return name;
    this.made(volumeId, nodeName);
    return undefined;
  }
}

const nodesOf = (attachment: VolumeAttachment): string[] => [attachment.spec.nodeName];
const sourcesOf = (attachment: VolumeAttachment): string[] => [sourceOf(attachment)];

function sourceOf(attachment: VolumeAttachment): SlotVolume {
  const { persistentVolumeName } = attachment.spec.source;
  if (persistentVolumeName !== undefined) return `pv:${persistentVolumeName}` as SlotVolume;
  const volumeHandle = inlineSourceOf(attachment)?.csi.volumeHandle ?? '';
  return slotVolume(volumeNamesOf({ driver: attachment.spec.attacher, volumeHandle }));
}
