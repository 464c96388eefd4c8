// What the snapshot controller writes for a snapshot: its finalizers, class and status, and its content's life from being
// made or bound to being deleted. Each write is for this incarnation alone, and is read back at once.

import {
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { type Draft, keyOf, nameFromKey } from '../../api/object.ts';
import { ANN_SNAPSHOT_BEING_DELETED, FINALIZER_SNAPSHOT_CONTENT } from '../../api/well-known.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists } from '../../runtime/kube/kube-error.ts';
import type { StatusPatch } from './snapshot-status.ts';

export class SnapshotWrites {
  readonly #kube: KubeClient;
  readonly #snapshots: ReadYourWrites<VolumeSnapshot>;
  readonly #contents: ReadYourWrites<VolumeSnapshotContent>;

  constructor(
    kube: KubeClient,
    caches: { snapshots: ReadYourWrites<VolumeSnapshot>; contents: ReadYourWrites<VolumeSnapshotContent> },
  ) {
    this.#kube = kube;
    this.#snapshots = caches.snapshots;
    this.#contents = caches.contents;
  }

  async protect(
    snapshot: VolumeSnapshot,
    { finalizers, className }: { finalizers: readonly string[]; className?: string },
    signal: AbortSignal,
  ): Promise<void> {
    const spec = { volumeSnapshotClassName: className };
    const object = className === undefined ? snapshot : await this.#patch(snapshot, { spec }, { signal });
    const request = { kube: this.#kube, resource: volumeSnapshots, object, signal };
    this.#snapshots.wrote(await addFinalizer({ ...request, finalizer: finalizers }));
  }

  async release(object: VolumeSnapshot, finalizer: readonly string[], signal: AbortSignal): Promise<void> {
    const request = { kube: this.#kube, resource: volumeSnapshots, object, signal };
    const left = await removeFinalizer({ ...request, finalizer });
    if (left !== undefined) this.#snapshots.wrote(left);
  }

  async status(snapshot: VolumeSnapshot, status: StatusPatch, signal: AbortSignal): Promise<void> {
    await this.#patch(snapshot, { status }, { signal, subresource: 'status' });
  }

  /** The one that is there, whoever made it. */
  async createContent(
    draft: Draft<VolumeSnapshotContent>,
    signal: AbortSignal,
  ): Promise<{ content: VolumeSnapshotContent; isNew: boolean }> {
    try {
      return { content: await this.#kube.create(volumeSnapshotContents, draft, { signal }), isNew: true };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const { name = '' } = draft.metadata;
      return { content: await this.#kube.get(volumeSnapshotContents, { name }, { signal }), isNew: false };
    }
  }

  /** The tests inside keep it to a content that nobody else has bound meanwhile. */
  async bindContent(
    content: VolumeSnapshotContent,
    { metadata, spec }: VolumeSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    const { name, finalizers, deletionTimestamp } = content.metadata;
    const { volumeSnapshotRef: ref, volumeSnapshotClassName } = content.spec;
    const className = volumeSnapshotClassName === undefined ? spec.volumeSnapshotClassName : undefined;
    const isProtected = hasFinalizer(content, FINALIZER_SNAPSHOT_CONTENT) || deletionTimestamp !== undefined;
    const all = '/metadata/finalizers';
    const patch = [
      { op: 'test', path: '/spec/volumeSnapshotRef', value: ref },
      { op: 'replace', path: '/spec/volumeSnapshotRef', value: { ...ref, uid: metadata.uid } },
      ...(className === undefined
        ? []
        : [{ op: 'add', path: '/spec/volumeSnapshotClassName', value: className }]),
      ...(isProtected
        ? []
        : [
            { op: 'test', path: all, value: finalizers ?? null },
            { op: 'add', path: all, value: [...(finalizers ?? []), FINALIZER_SNAPSHOT_CONTENT] },
          ]),
    ];
    const how = { type: 'json', signal } as const;
    this.#contents.wrote(await this.#kube.patch(volumeSnapshotContents, { name }, patch, how));
  }

  /** Tells the snapshotter that the content may go. */
  async markContent({ metadata }: VolumeSnapshotContent, signal: AbortSignal): Promise<void> {
    const { name, uid } = metadata;
    const patch = { metadata: { uid, annotations: { [ANN_SNAPSHOT_BEING_DELETED]: 'yes' } } };
    const how = { type: 'merge', signal } as const;
    this.#contents.wrote(await this.#kube.patch(volumeSnapshotContents, { name }, patch, how));
  }

  async deleteContent(
    { metadata: { name, uid } }: VolumeSnapshotContent,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#kube.delete(volumeSnapshotContents, { name }, { preconditions: { uid }, signal });
    // Its finalizer keeps it: what it is now is read back instead of guessed.
    this.#contents.wrote(await this.#kube.get(volumeSnapshotContents, { name }, { signal }));
  }

  async #patch(
    snapshot: VolumeSnapshot,
    change: object,
    how: { signal: AbortSignal; subresource?: 'status' },
  ): Promise<VolumeSnapshot> {
    const body = { metadata: { uid: snapshot.metadata.uid }, ...change };
    const named = nameFromKey(keyOf(snapshot));
    return this.#snapshots.wrote(
      await this.#kube.patch(volumeSnapshots, named, body, { type: 'merge', ...how }),
    );
  }
}
