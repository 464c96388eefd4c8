// The snapshotter's writes to a VolumeSnapshotContent: the record of a call, the status, and the removal of the
// finalizer. Each write is for one UID only, and its result is kept as the newest version.

import { type VolumeSnapshotContent, volumeSnapshotContents } from '../../api/kinds.ts';
import { isOfGroup } from '../../api/snapshots.ts';
import {
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_PARAMETERS,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { hasFinalizer, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Random } from '../../runtime/ports.ts';
import { attemptOn } from './attempt.ts';
import { DELETED_PATCH, type StatusPatch } from './content-status.ts';
import { parametersRecord } from './snapshot-request.ts';

const hasHandle = (content: VolumeSnapshotContent): boolean => attemptOn(content).is === 'recorded';

export class ContentWrites {
  readonly #kube: KubeClient;
  readonly #contents: ReadYourWrites<VolumeSnapshotContent>;
  readonly #random: Random;
  /** By the content's UID: records that this process is sure are stored. */
  readonly #own = new Map<string, string>();

  constructor(options: {
    kube: KubeClient;
    random: Random;
    contents: ReadYourWrites<VolumeSnapshotContent>;
  }) {
    this.#kube = options.kube;
    this.#random = options.random;
    this.#contents = options.contents;
  }

  /** The object is gone. */
  gone(uid: string): void {
    this.#own.delete(uid);
  }

  /**
   * Records that the driver is about to be called, and with what; the finalizer keeps the content until the outcome is
   * known. Each record is unique, and each process writes its own: the removal of an earlier record, by this or a
   * previous process, may still be in flight and could otherwise take effect after the call.
   */
  async record(
    content: VolumeSnapshotContent,
    parameters: Record<string, string>,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    const { annotations = {}, finalizers = [], deletionTimestamp, uid, resourceVersion } = content.metadata;
    const known = annotations[ANN_SNAPSHOT_PARAMETERS];
    const isProtected = deletionTimestamp !== undefined || hasFinalizer(content, FINALIZER_SNAPSHOT_CONTENT);
    // Once a handle is known, no snapshot can be leaked.
    const isRecorded = hasHandle(content)
      ? known !== undefined
      : known !== undefined && known === this.#own.get(uid);
    if (isRecorded && isProtected) return content;
    const value = parametersRecord(parameters, this.#random.suffix(8));
    const protection = { resourceVersion, finalizers: [...finalizers, FINALIZER_SNAPSHOT_CONTENT] };
    const metadata = {
      uid,
      annotations: {
        ...(!hasHandle(content) && { [ANN_SNAPSHOT_BEING_CREATED]: 'yes' }),
        [ANN_SNAPSHOT_PARAMETERS]: value,
      },
      ...(!isProtected && protection),
    };
    const written = await this.#merge(content, { metadata }, signal);
    this.#own.set(uid, value);
    return written;
  }

  /**
   * `attempt`: no call is in flight. `all`: nor will there be another. Removes exactly this record and no later one.
   */
  async forget(
    content: VolumeSnapshotContent,
    what: 'attempt' | 'all',
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    const { uid, name, annotations = {} } = content.metadata;
    const path = (key: string): string => `/metadata/annotations/${key.replaceAll('/', '~1')}`;
    const both = [ANN_SNAPSHOT_BEING_CREATED, ANN_SNAPSHOT_PARAMETERS].filter((key) => key in annotations);
    const gone = what === 'all' ? both : both.filter((key) => key === ANN_SNAPSHOT_BEING_CREATED);
    if (gone.length === 0) return content;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: uid },
      ...both.map((key) => ({ op: 'test', path: path(key), value: annotations[key] })),
      ...gone.map((key) => ({ op: 'remove', path: path(key) })),
    ];
    // From here on it is unknown whether the record is stored, until the response arrives.
    this.#own.delete(uid);
    const how = { type: 'json', signal } as const;
    return this.#contents.wrote(await this.#kube.patch(volumeSnapshotContents, { name }, patch, how));
  }

  async status(
    content: VolumeSnapshotContent,
    status: StatusPatch | undefined,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    if (status === undefined) return content;
    return this.#merge(content, { metadata: { uid: content.metadata.uid }, status }, signal, 'status');
  }

  /**
   * The finalizer first, since that mostly deletes the object. Where other finalizers keep it, its status must not show
   * a deleted snapshot. A crash in between is harmless: DeleteSnapshot is called again and is idempotent.
   */
  async release(content: VolumeSnapshotContent, signal: AbortSignal): Promise<void> {
    const left = await removeFinalizer({
      kube: this.#kube,
      resource: volumeSnapshotContents,
      object: content,
      finalizer: FINALIZER_SNAPSHOT_CONTENT,
      signal,
    });
    if (left === undefined || (left.metadata.finalizers ?? []).length === 0) return;
    this.#contents.wrote(left);
    const isDeleted = content.spec.deletionPolicy === 'Delete' && hasHandle(left) && !isOfGroup(left);
    if (isDeleted) await this.status(left, DELETED_PATCH, signal);
  }

  async #merge(
    { metadata: { name } }: VolumeSnapshotContent,
    body: object,
    signal: AbortSignal,
    subresource?: 'status',
  ): Promise<VolumeSnapshotContent> {
    const how = { type: 'merge', signal, ...(subresource && { subresource }) } as const;
    return this.#contents.wrote(await this.#kube.patch(volumeSnapshotContents, { name }, body, how));
  }
}
