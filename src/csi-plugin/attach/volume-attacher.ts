// The plugin's attach and detach: it makes and deletes VolumeAttachments and waits for the attacher to answer in
// their status, through an informer, never by polling. It never writes a status: that is the attacher's.

import { type VolumeAttachment, volumeAttachments } from '../../api/kinds.ts';
import type { Informer } from '../../runtime/informer.ts';
import type { KubeClient } from '../../runtime/kube.ts';
import { isAlreadyExists, isNotFound } from '../../runtime/kube-error.ts';
import type { Clock } from '../../runtime/ports.ts';
import { type AttachableVolume, attachmentDraft, attachmentNameOf } from './attachable-volume.ts';
import { type AttachmentState, attachmentState } from './attachment-state.ts';

/** As long as the official plugin waits for an attacher before it reports and tries again. */
const ANSWER_TIMEOUT_MS = 2 * 60_000;

export type AttachFailure =
  /** The attacher reported this error; it goes on by itself. */
  | 'attach-error'
  | 'detach-error'
  /** The old attachment is still being detached: a new one can be made once it is gone. */
  | 'detach-in-progress'
  | 'timeout';

export class AttachError extends Error {
  override readonly name = 'AttachError';
  readonly failure: AttachFailure;

  constructor(failure: AttachFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

export interface VolumeAttacherPorts {
  kube: KubeClient;
  attachments: Informer<VolumeAttachment>;
  clock: Clock;
  timeoutMs?: number;
}

export interface VolumeAttacher {
  /** Resolves with the publish context once the volume is attached; rejects with an AttachError otherwise. */
  attach(
    volume: AttachableVolume,
    nodeName: string,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>>;
  /** Resolves once the attachment is gone or no longer attached; rejects with an AttachError otherwise. */
  detach(attachment: string, signal: AbortSignal): Promise<void>;
}

export function createVolumeAttacher(ports: VolumeAttacherPorts): VolumeAttacher {
  const { kube, attachments, clock } = ports;
  const timeoutMs = ports.timeoutMs ?? ANSWER_TIMEOUT_MS;

  async function settled(
    name: string,
    isSettled: (state: AttachmentState) => boolean,
    signal: AbortSignal,
  ): Promise<AttachmentState> {
    const wait = new AbortController();
    const timer = clock.setTimeout(() => wait.abort(), timeoutMs);
    try {
      const either = AbortSignal.any([wait.signal, signal]);
      return attachmentState(await attachments.waitFor(name, (va) => isSettled(attachmentState(va)), either));
    } catch (error) {
      if (!wait.signal.aborted || signal.aborted) throw error;
      throw new AttachError('timeout', `VolumeAttachment ${name}: no answer within ${timeoutMs / 1000}s`);
    } finally {
      timer.cancel();
    }
  }

  return {
    async attach(volume, nodeName, signal) {
      const name = attachmentNameOf(volume, nodeName);
      // An informer may lag behind the server: until it has seen the object that exists now, "absent" is old news.
      if (!attachments.get(name)) {
        try {
          await kube.create(volumeAttachments, attachmentDraft(volume, nodeName), { signal });
        } catch (error) {
          if (!isAlreadyExists(error)) throw error;
        }
      }
      const state = await settled(name, (s) => s.kind !== 'absent' && s.kind !== 'pending', signal);
      if (state.kind === 'attached') return state.publishContext;
      if (state.kind === 'attach-failed') throw new AttachError('attach-error', state.message);
      throw new AttachError(
        'detach-in-progress',
        `VolumeAttachment ${name} is being detached; waiting for it to go`,
      );
    },

    async detach(name, signal) {
      try {
        await kube.delete(volumeAttachments, { name }, { signal });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      const state = await settled(
        name,
        (s) => s.kind === 'absent' || (s.kind === 'detaching' && (!s.attached || s.error !== undefined)),
        signal,
      );
      if (state.kind === 'detaching' && state.attached) {
        throw new AttachError('detach-error', state.error ?? 'the attacher gave no message');
      }
    },
  };
}
