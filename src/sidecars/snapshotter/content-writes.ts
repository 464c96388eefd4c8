// What the snapshotter writes on a VolumeSnapshotContent: the record that the driver is being asked, the status, and the
// end of the finalizer. Each write is for this incarnation of the object alone, and is read back at once.

import { type VolumeSnapshotContent, volumeSnapshotContents } from '../../api/kinds.ts';
import { isOfGroup } from '../../api/snapshots.ts';
import {
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_PARAMETERS,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import type { KubeClient } from '../../runtime/kube.ts';
import { hasFinalizer, removeFinalizer } from '../common/finalizers.ts';
import { DELETED_PATCH, type StatusPatch } from './content-status.ts';

export const hasHandle = ({ status }: VolumeSnapshotContent): boolean => Boolean(status?.snapshotHandle);

export class ContentWrites {
  readonly #kube: KubeClient;
  readonly #contents: ReadYourWrites<VolumeSnapshotContent>;

  constructor(kube: KubeClient, contents: ReadYourWrites<VolumeSnapshotContent>) {
    this.#kube = kube;
    this.#contents = contents;
  }

  /** That the driver is about to be asked, and for what; and that the content stays until the answer is known. */
  async record(
    content: VolumeSnapshotContent,
    parameters: Record<string, string>,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    const { annotations = {}, finalizers = [], deletionTimestamp, uid, resourceVersion } = content.metadata;
    const wanted = {
      // Where a handle is known nothing can be lost any more.
      ...(!hasHandle(content) && { [ANN_SNAPSHOT_BEING_CREATED]: 'yes' }),
      [ANN_SNAPSHOT_PARAMETERS]: JSON.stringify(parameters),
    };
    const lacksFinalizer =
      deletionTimestamp === undefined && !hasFinalizer(content, FINALIZER_SNAPSHOT_CONTENT);
    const isRecorded = Object.entries(wanted).every(([key, value]) => annotations[key] === value);
    if (isRecorded && !lacksFinalizer) return content;
    const protection = { resourceVersion, finalizers: [...finalizers, FINALIZER_SNAPSHOT_CONTENT] };
    const metadata = { uid, annotations: wanted, ...(lacksFinalizer && protection) };
    return this.#patch(content, { metadata }, signal);
  }

  /** `attempt`: no call is under way. `all`: nor will there be another. */
  async forget(
    content: VolumeSnapshotContent,
    what: 'attempt' | 'all',
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    const known = content.metadata.annotations ?? {};
    const keys = [ANN_SNAPSHOT_BEING_CREATED, ...(what === 'all' ? [ANN_SNAPSHOT_PARAMETERS] : [])];
    const gone = keys.filter((key) => key in known).map((key) => [key, null]);
    if (gone.length === 0) return content;
    const metadata = { uid: content.metadata.uid, annotations: Object.fromEntries(gone) };
    return this.#patch(content, { metadata }, signal);
  }

  async status(
    content: VolumeSnapshotContent,
    status: StatusPatch | undefined,
    signal: AbortSignal,
  ): Promise<VolumeSnapshotContent> {
    if (status === undefined) return content;
    return this.#patch(content, { metadata: { uid: content.metadata.uid }, status }, signal, 'status');
  }

  /**
   * The finalizer first, since with it the object mostly goes. Where others keep it, its status must not speak of a
   * snapshot that is gone. A crash in between is harmless: DeleteSnapshot is asked again and says yes again.
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

  async #patch(
    { metadata: { name } }: VolumeSnapshotContent,
    body: object,
    signal: AbortSignal,
    subresource?: 'status',
  ): Promise<VolumeSnapshotContent> {
    const how = { type: 'merge', signal, ...(subresource && { subresource }) } as const;
    return this.#contents.wrote(await this.#kube.patch(volumeSnapshotContents, { name }, body, how));
  }
}
