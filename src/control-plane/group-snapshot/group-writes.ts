// The snapshot controller's writes for group snapshots: finalizer, class and status of a VolumeGroupSnapshot, its content,
// and its members with their contents. Each write is for one UID only, and its result is kept as the newest version.

import {
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../api/object.ts';
import { keyOf, nameFromKey } from '../../api/object.ts';
import { FINALIZER_GROUP_SNAPSHOT_BOUND, FINALIZER_GROUP_SNAPSHOT_CONTENT } from '../../api/well-known.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists, isNotFound } from '../../runtime/kube/kube-error.ts';
import { groupSnapshotContents, markContent } from '../snapshot/content-reconciler.ts';
import { type StatusPatch, statusPreconditions } from '../snapshot/snapshot-status.ts';
import { type Member, memberContent, memberContentStatus, memberSnapshot } from './plan-member.ts';

export interface GroupCaches {
  groups: ReadYourWrites<VolumeGroupSnapshot>;
  groupContents: ReadYourWrites<VolumeGroupSnapshotContent>;
  snapshots: ReadYourWrites<VolumeSnapshot>;
  contents: ReadYourWrites<VolumeSnapshotContent>;
}

export class GroupWrites {
  readonly #kube: KubeClient;
  readonly #caches: GroupCaches;

  constructor(kube: KubeClient, caches: GroupCaches) {
    this.#kube = kube;
    this.#caches = caches;
  }

  async protect(
    group: VolumeGroupSnapshot,
    { className }: { className?: string },
    signal: AbortSignal,
  ): Promise<void> {
    const spec = { volumeGroupSnapshotClassName: className };
    const object = className === undefined ? group : await this.#patch(group, { spec }, { signal });
    const request = { kube: this.#kube, resource: volumeGroupSnapshots, object, signal };
    const finalizer = FINALIZER_GROUP_SNAPSHOT_BOUND;
    this.#caches.groups.wrote(await addFinalizer({ ...request, needsAnswer: true, finalizer }));
  }

  async release(object: VolumeGroupSnapshot, signal: AbortSignal): Promise<void> {
    const request = { kube: this.#kube, resource: volumeGroupSnapshots, object, signal };
    const finalizer = FINALIZER_GROUP_SNAPSHOT_BOUND;
    const left = await removeFinalizer({ ...request, needsAnswer: true, finalizer });
    if (left !== undefined) this.#caches.groups.wrote(left);
  }

  async status(group: VolumeGroupSnapshot, status: StatusPatch, signal: AbortSignal): Promise<void> {
    const metadata = statusPreconditions(group, status);
    await this.#patch(group, { metadata, status }, { signal, subresource: 'status' });
  }

  async createContent(
    draft: Draft<VolumeGroupSnapshotContent> & { metadata: { name?: string } },
    signal: AbortSignal,
  ): Promise<VolumeGroupSnapshotContent> {
    return this.#caches.groupContents.wrote(
      await this.#createOrGet(volumeGroupSnapshotContents, draft, signal),
    );
  }

  /** Fails where somebody else has bound the content meanwhile. */
  async bindContent(
    content: VolumeGroupSnapshotContent,
    { metadata, spec }: VolumeGroupSnapshot,
    signal: AbortSignal,
  ): Promise<void> {
    const { name, uid, resourceVersion, finalizers = [] } = content.metadata;
    const { volumeGroupSnapshotRef: ref, volumeGroupSnapshotClassName } = content.spec;
    const isProtected = hasFinalizer(content, FINALIZER_GROUP_SNAPSHOT_CONTENT);
    const className = volumeGroupSnapshotClassName ?? spec.volumeGroupSnapshotClassName;
    const patch = {
      metadata: {
        uid,
        resourceVersion,
        ...(!isProtected && { finalizers: [...finalizers, FINALIZER_GROUP_SNAPSHOT_CONTENT] }),
      },
      spec: {
        volumeGroupSnapshotRef: { ...ref, uid: metadata.uid },
        ...(className !== undefined && { volumeGroupSnapshotClassName: className }),
      },
    };
    const how = { type: 'merge', signal } as const;
    this.#caches.groupContents.wrote(
      await this.#kube.patch(volumeGroupSnapshotContents, { name }, patch, how),
    );
  }

  /**
   * The snapshot, then its content with the driver's handle, then the binding in the snapshot's status. After a crash
   * anywhere in between the same steps are repeated; a snapshot that is deleted before finds its content by name.
   * A content that has its handle belongs to the snapshotter, which may have found it ready by now.
   */
  async createMember(
    group: VolumeGroupSnapshot,
    { content, member }: { content: VolumeGroupSnapshotContent; member: Member },
    signal: AbortSignal,
  ): Promise<VolumeSnapshot> {
    const { snapshots, contents } = this.#caches;
    const wanted = memberSnapshot(group, member);
    const snapshot = snapshots.wrote(await this.#createOrGet(volumeSnapshots, wanted, signal));
    const draft = memberContent({ content, snapshot }, member);
    const made = await this.#createOrGet(volumeSnapshotContents, draft, signal);
    const status = { type: 'merge', subresource: 'status', signal } as const;
    const { name, uid, resourceVersion } = made.metadata;
    if (made.status?.snapshotHandle === undefined) {
      const filled = { metadata: { uid, resourceVersion }, status: memberContentStatus(content, member) };
      contents.wrote(await this.#kube.patch(volumeSnapshotContents, { name }, filled, status));
    }
    const bound = { boundVolumeSnapshotContentName: name };
    const snapshotStatus = { metadata: { uid: snapshot.metadata.uid }, status: bound };
    const named = nameFromKey(keyOf(snapshot));
    return snapshots.wrote(await this.#kube.patch(volumeSnapshots, named, snapshotStatus, status));
  }

  async deleteMember(member: VolumeSnapshot, signal: AbortSignal): Promise<void> {
    const named = nameFromKey(keyOf(member));
    const { uid } = member.metadata;
    try {
      await this.#kube.delete(volumeSnapshots, named, { preconditions: { uid }, signal });
      this.#caches.snapshots.wrote(await this.#kube.get(volumeSnapshots, named, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async deleteStray({ metadata: { name, uid } }: VolumeSnapshotContent, signal: AbortSignal): Promise<void> {
    try {
      await this.#kube.delete(volumeSnapshotContents, { name }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async markContent(content: VolumeGroupSnapshotContent, signal: AbortSignal): Promise<void> {
    this.#caches.groupContents.wrote(
      await markContent(this.#kube, groupSnapshotContents, { content, signal }),
    );
  }

  async deleteContent(
    { metadata: { name, uid } }: VolumeGroupSnapshotContent,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#kube.delete(volumeGroupSnapshotContents, { name }, { preconditions: { uid }, signal });
    // Its finalizer keeps it: the new state is read back from the server.
    this.#caches.groupContents.wrote(await this.#kube.get(volumeGroupSnapshotContents, { name }, { signal }));
  }

  /** The existing object of that name, whoever created it. */
  async #createOrGet<T extends KubeObject>(
    resource: Resource<T>,
    draft: Draft<T>,
    signal: AbortSignal,
  ): Promise<T> {
    try {
      return await this.#kube.create(resource, draft, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const { name = '', namespace } = draft.metadata;
      return this.#kube.get(resource, { name, ...(namespace !== undefined && { namespace }) }, { signal });
    }
  }

  async #patch(
    group: VolumeGroupSnapshot,
    change: object,
    how: { signal: AbortSignal; subresource?: 'status' },
  ): Promise<VolumeGroupSnapshot> {
    const body = { metadata: { uid: group.metadata.uid }, ...change };
    const named = nameFromKey(keyOf(group));
    return this.#caches.groups.wrote(
      await this.#kube.patch(volumeGroupSnapshots, named, body, { type: 'merge', ...how }),
    );
  }
}
