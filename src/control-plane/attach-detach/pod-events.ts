// What pods are told about their volumes: attached, not attached and why, held by another node. Remembers only which
// attachments were asked for and not announced yet, so that success is told once, however long it took.

import type { Pod, VolumeAttachment } from '../../api/kinds.ts';
import { findAttachment } from '../../csi-plugin/attach/attachable-volume.ts';
import { attachmentState } from '../../csi-plugin/attach/attachment-state.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { DesiredVolumes } from './desired-volumes.ts';
import { multiAttachMessage } from './multi-attach-message.ts';
import { slotKey, slotOf } from './slot.ts';
import type { UsedVolume } from './volumes-of-pod.ts';

export interface PodEventsPorts {
  recorder: EventRecorder;
  desired: DesiredVolumes;
  pods: Informer<Pod>;
  attachments: Informer<VolumeAttachment>;
}

export class PodEvents {
  readonly #ports: PodEventsPorts;
  readonly #unannounced = new Set<string>();

  constructor(ports: PodEventsPorts) {
    this.#ports = ports;
  }

  /** Success of this attachment is to be announced. */
  asked(attachmentName: string): void {
    this.#unannounced.add(attachmentName);
  }

  gone(attachmentName: string): void {
    this.#unannounced.delete(attachmentName);
  }

  /** Success may also come long after an attempt that ended with the attacher's error. */
  announce(slot: string): void {
    const { desired, attachments } = this.#ports;
    const { nodeName } = slotOf(slot);
    for (const { volume, shownAs } of desired.volumesOf(slot)) {
      const attachment = findAttachment(attachments, volume, nodeName);
      if (attachmentState(attachment).kind !== 'attached') continue;
      if (!attachment || !this.#unannounced.delete(attachment.metadata.name)) continue;
      const message = `AttachVolume.Attach succeeded for volume "${shownAs}"`;
      for (const pod of this.#podsAt(slot)) this.#emit(pod, 'Normal', 'SuccessfulAttachVolume', message);
    }
  }

  attachFailed(slot: string, { shownAs }: UsedVolume, error: unknown): void {
    const why = errorMessage(error);
    const message = `AttachVolume.Attach failed for volume "${shownAs}" : ${why}`;
    for (const pod of this.#podsAt(slot)) this.#emit(pod, 'Warning', 'FailedAttachVolume', message);
  }

  /** Other nodes may have the volume, which is for one node only. */
  heldElsewhere(slot: string, holders: readonly string[]): void {
    const { desired } = this.#ports;
    const { volumeId } = slotOf(slot);
    const otherPods = holders.flatMap((nodeName) => desired.podsOf(slotKey(nodeName, volumeId)));
    const shownAs = desired.volumesOf(slot)[0]?.shownAs ?? volumeId;
    for (const pod of this.#podsAt(slot)) {
      const namespace = pod.metadata.namespace ?? '';
      const message = multiAttachMessage({ shownAs, namespace, otherPods });
      this.#emit(pod, 'Warning', 'FailedAttachVolume', message);
    }
  }

  #podsAt(slot: string): Pod[] {
    const { desired, pods } = this.#ports;
    return desired.podsOf(slot).flatMap((podKey) => pods.get(podKey) ?? []);
  }

  #emit(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#ports.recorder.event(pod, type, reason, message);
  }
}
