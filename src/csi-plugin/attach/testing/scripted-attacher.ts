// An attacher for tests: answers VolumeAttachments in their status as the real one does, without a driver behind it,
// and as the script says. Its finalizer is on the object before it "calls" the driver and goes when that is undone.

import { type VolumeAttachment, type VolumeAttachmentStatus, volumeAttachments } from '../../../api/kinds.ts';
import { attacherFinalizer } from '../../../api/well-known.ts';
import type { Informer } from '../../../runtime/informer/informer.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { isConflict, isNotFound } from '../../../runtime/kube/kube-error.ts';

export type Answer = 'ok' | 'silent' | { error: string };

export interface ScriptedAttacher {
  /** How attachments and detachments from now on are answered; what went unanswered is looked at again. */
  attach(answer: Answer): void;
  detach(answer: Answer): void;
  /** Nodes that have the volume, by the attachment's source; never more than the script allowed. */
  readonly published: ReadonlyMap<string, ReadonlySet<string>>;
  /** Most nodes that had one volume at the same time. */
  readonly mostNodes: number;
  /** Every object that it was shown, in order. */
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
      // Time stands still here: the same error again would be a change that wakes this attacher for ever.
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
