// The snapshot controller's writes: a snapshot's finalizers, class and status, and the creation, binding and deletion
// of its content. Each write is for one UID only, and its result is kept as the newest version.

import { ownerReferenceTo } from '../../api/group-snapshots.ts';
import {
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { type Draft, keyOf, nameFromKey } from '../../api/object.ts';
import { FINALIZER_SNAPSHOT_CONTENT, FINALIZER_SNAPSHOT_IN_GROUP } from '../../api/well-known.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists } from '../../runtime/kube/kube-error.ts';
import { markContent, snapshotContents } from './content-reconciler.ts';
import { type StatusPatch, statusPreconditions } from './snapshot-status.ts';

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
    this.#snapshots.wrote(await addFinalizer({ ...request, needsAnswer: true, finalizer: finalizers }));
  }

  async release(object: VolumeSnapshot, finalizer: readonly string[], signal: AbortSignal): Promise<void> {
    const request = { kube: this.#kube, resource: volumeSnapshots, object, signal };
    const left = await removeFinalizer({ ...request, needsAnswer: true, finalizer });
    if (left !== undefined) this.#snapshots.wrote(left);
  }

  async status(snapshot: VolumeSnapshot, status: StatusPatch, signal: AbortSignal): Promise<void> {
    const metadata = statusPreconditions(snapshot, status);
    await this.#patch(snapshot, { metadata, status }, { signal, subresource: 'status' });
  }

  async joinGroup(snapshot: VolumeSnapshot, group: VolumeGroupSnapshot, signal: AbortSignal): Promise<void> {
    const { resourceVersion, ownerReferences = [], finalizers = [] } = snapshot.metadata;
    const metadata = {
      uid: snapshot.metadata.uid,
      resourceVersion,
      ownerReferences: [...ownerReferences, ownerReferenceTo(group)],
      finalizers: [...finalizers, FINALIZER_SNAPSHOT_IN_GROUP],
    };
    await this.#patch(snapshot, { metadata }, { signal });
  }

  /** The existing content of that name, whoever created it. */
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

  /** The patch's tests make it fail if another snapshot has bound the content meanwhile. */
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

  async markContent(content: VolumeSnapshotContent, signal: AbortSignal): Promise<void> {
    this.#contents.wrote(await markContent(this.#kube, snapshotContents, { content, signal }));
  }

  async deleteContent(
    { metadata: { name, uid } }: VolumeSnapshotContent,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#kube.delete(volumeSnapshotContents, { name }, { preconditions: { uid }, signal });
    // Its finalizer keeps it: the new state is read back from the server.
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
