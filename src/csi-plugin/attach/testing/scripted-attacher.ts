// An attacher for tests: writes the status of VolumeAttachments as scripted, without a driver. As in the real one, the
// finalizer is set before the "call" to the driver and removed after it is undone.

import { type VolumeAttachment, type VolumeAttachmentStatus, volumeAttachments } from '../../../api/kinds.ts';
import { attacherFinalizer } from '../../../api/well-known.ts';
import type { Informer } from '../../../runtime/informer/informer.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { isConflict, isNotFound } from '../../../runtime/kube/kube-error.ts';

export type Answer = 'ok' | 'silent' | { error: string };

export interface ScriptedAttacher {
  /** Sets how attach and detach are answered from now on; unanswered objects are processed again. */
  attach(answer: Answer): void;
  detach(answer: Answer): void;
  /** The nodes that have the volume, by the attachment's source. */
  readonly published: ReadonlyMap<string, ReadonlySet<string>>;
  /** The maximum number of nodes that had one volume at the same time. */
  readonly mostNodes: number;
  /** The objects it received, in order. */
  readonly seen: readonly VolumeAttachment[];
}

export function scriptedAttacher(
  kube: KubeClient,
  attachments: Informer<VolumeAttachment>,
): ScriptedAttacher {
  const published = new Map<string, Set<string>>();
  const seen: VolumeAttachment[] = [];
  const script: { attach: Answer; detach: Answer } = { attach: 'ok', detach: 'ok' };
  let mostNodes = 0;

  async function look(name: string): Promise<void> {
    try {
      const attachment = await kube.get(volumeAttachments, { name });
      if (attachment.metadata.deletionTimestamp) await leave(attachment);
      else if (!attachment.status?.attached) await enter(attachment);
    } catch (error) {
      if (isConflict(error)) await look(name);
      else if (!isNotFound(error)) throw error;
    }
  }

  async function enter(attachment: VolumeAttachment): Promise<void> {
    if (script.attach === 'silent') return;
    const finalizers = [attacherFinalizer(attachment.spec.attacher)];
    const marked = await kube.update(volumeAttachments, {
      ...attachment,
      metadata: { ...attachment.metadata, finalizers },
    });
    if (typeof script.attach === 'object') {
      // Virtual time does not advance: writing the same error again would wake this attacher in an endless loop.
      const attachError = { message: script.attach.error, time: '2026-01-01T00:00:00Z' };
      if (attachment.status?.attachError?.message !== script.attach.error) {
        await writeStatus(marked, { attached: false, attachError });
      }
      return;
    }
    const nodes = published.get(sourceOf(attachment)) ?? new Set();
    published.set(sourceOf(attachment), nodes.add(attachment.spec.nodeName));
    mostNodes = Math.max(mostNodes, nodes.size);
    await writeStatus(marked, { attached: true, attachmentMetadata: { device: attachment.spec.nodeName } });
  }

  async function leave(attachment: VolumeAttachment): Promise<void> {
    if (script.detach === 'silent' || !attachment.metadata.finalizers?.length) return;
    if (typeof script.detach === 'object') {
      const detachError = { message: script.detach.error, time: '2026-01-01T00:00:00Z' };
      if (attachment.status?.detachError?.message !== script.detach.error) {
        await writeStatus(attachment, { attached: attachment.status?.attached ?? false, detachError });
      }
      return;
    }
    published.get(sourceOf(attachment))?.delete(attachment.spec.nodeName);
    await kube.update(volumeAttachments, {
      ...attachment,
      metadata: { ...attachment.metadata, finalizers: [] },
    });
  }

  async function writeStatus(attachment: VolumeAttachment, status: VolumeAttachmentStatus): Promise<void> {
    await kube.update(volumeAttachments, { ...attachment, status }, { subresource: 'status' });
  }

  function lookAtAll(): void {
    for (const { metadata } of attachments.list()) void look(metadata.name);
  }

  const notice = (attachment: VolumeAttachment): void => {
    seen.push(attachment);
    void look(attachment.metadata.name);
  };
  attachments.subscribe({ added: notice, updated: (_before, after) => notice(after) });
  return {
    published,
    seen,
    get mostNodes() {
      return mostNodes;
    },
    attach(answer) {
      script.attach = answer;
      lookAtAll();
    },
    detach(answer) {
      script.detach = answer;
      lookAtAll();
    },
  };
}

function sourceOf({ spec: { source } }: VolumeAttachment): string {
  return source.persistentVolumeName ?? source.inlineVolumeSource?.volumeSource.csi.volumeHandle ?? '';
}
