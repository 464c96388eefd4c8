// Attach and detach of the plugin: creates and deletes VolumeAttachments and waits, with an informer, for the
// attacher's status. Never writes the status.

import { type VolumeAttachment, volumeAttachments } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { isNewer } from '../../api/resource-version.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists } from '../../runtime/kube/kube-error.ts';
import type { Clock } from '../../runtime/ports.ts';
import { withDeadline } from '../../runtime/time/deadline.ts';
import {
  type AttachableVolume,
  attachmentDraft,
  attachmentNames,
  findAttachment,
} from './attachable-volume.ts';
import { type AttachmentState, attachmentState } from './attachment-state.ts';

/** The time-out of the official plugin for an attacher's answer; then it reports an error and retries. */
const ANSWER_TIMEOUT_MS = 2 * 60_000;

export type AttachFailure =
  /** The attacher reported this error and retries. */
  | 'attach-error'
  | 'detach-error'
  /** The old attachment is still being detached; a new one can be created once it is gone. */
  | 'detach-in-progress'
  /** Somebody deleted it while its attacher's answer was awaited. Whether to create it again is the caller's decision. */
  | 'deleted'
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
  /**
   * Creates the attachment unless one exists, under the current name or an older one. Resolves with the publish context
   * once the volume is attached; rejects with an AttachError or a KubeError.
   */
  attach(
    volume: AttachableVolume,
    nodeName: string,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>>;
  /** Resolves once the attachment is gone or no longer attached; rejects with an AttachError or a KubeError. */
  detach(attachment: VolumeAttachment, signal: AbortSignal): Promise<void>;
}

export function createVolumeAttacher(ports: VolumeAttacherPorts): VolumeAttacher {
  const { kube, attachments, clock, timeoutMs = ANSWER_TIMEOUT_MS } = ports;

  function inTime<T>(
    name: () => string,
    parent: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const reason = () =>
      new AttachError(
        'timeout',
        `VolumeAttachment ${name()}: no answer from its attacher within ${timeoutMs / 1000}s; will look again`,
      );
    return withDeadline({ clock, delayMs: timeoutMs, reason, parent }, work);
  }

  /** The server's current object; undefined when it exists but the cache does not have it yet. */
  async function ensure(
    draft: Draft<VolumeAttachment>,
    signal: AbortSignal,
  ): Promise<VolumeAttachment | undefined> {
    try {
      return await kube.create(volumeAttachments, draft, { signal });
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  /** Waits for the attacher's answer on the current object. `absent`: it was deleted meanwhile. */
  async function answered(
    name: string,
    { existing, made }: { existing: VolumeAttachment | undefined; made: VolumeAttachment | undefined },
    signal: AbortSignal,
  ): Promise<AttachmentState> {
    // Until the cache has the created object, it is stale. An existing one was in the cache, though it may be deleted
    // before the wait starts.
    let seen =
      existing !== undefined ||
      (made !== undefined && !isNewer(made.metadata.resourceVersion, attachments.resourceVersion));
    const isAnswered = (attachment: VolumeAttachment | undefined): boolean => {
      if (!attachment) return seen;
      if (made && isNewer(made.metadata.resourceVersion, attachment.metadata.resourceVersion)) return false;
      seen = true;
      return attachmentState(attachment).kind !== 'pending';
    };
    return attachmentState(await attachments.waitFor(name, isAnswered, signal));
  }

  return {
    attach(volume, nodeName, parent) {
      const [today] = attachmentNames(volume, nodeName);
      let name = today;
      return inTime(
        () => name,
        parent,
        async (signal) => {
          const existing = findAttachment(attachments, volume, nodeName);
          name = existing?.metadata.name ?? today;
          const made = existing ? undefined : await ensure(attachmentDraft(volume, nodeName), signal);
          const state = await answered(name, { existing, made }, signal);
          if (state.kind === 'attached') return state.publishContext;
          if (state.kind === 'attach-failed') throw new AttachError('attach-error', state.message);
          if (state.kind === 'detaching') {
            throw new AttachError(
              'detach-in-progress',
              `VolumeAttachment ${name} is being detached; it is created again once it is gone`,
            );
          }
          throw new AttachError('deleted', `VolumeAttachment ${name} was deleted before it was attached`);
        },
      );
    },

    detach({ metadata: { name, uid } }, parent) {
      return inTime(
        () => name,
        parent,
        async (signal) => {
          await ifThere(kube.delete(volumeAttachments, { name }, { preconditions: { uid }, signal }));
          const isOver = (attachment: VolumeAttachment | undefined): boolean => {
            // Another object of the same name: the one to delete is gone.
            if (attachment?.metadata.uid !== uid) return true;
            const state = attachmentState(attachment);
            return state.kind === 'detaching' && (!state.attached || state.error !== undefined);
          };
          const left = await attachments.waitFor(name, isOver, signal);
          const state = attachmentState(left);
          if (left?.metadata.uid === uid && state.kind === 'detaching' && state.attached) {
            throw new AttachError('detach-error', state.error ?? '');
          }
        },
      );
    },
  };
}
